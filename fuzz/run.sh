#!/usr/bin/env bash
# Build the fuzz targets and run each of them for some minutes: fuzz/run.sh [MINUTES] [TARGET ...]
#
# PYTHON (default: python3) must have the packages that treetok needs; CXX is a clang++ with libFuzzer.
# What a target learned is kept in build/fuzz/corpus; inputs that made it fail are in build/fuzz/failed.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-2}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(encode vocabulary decode lexicon_and_counts parser)
build=build/fuzz
mkdir -p "$build/failed"
[ "$build/unicode_tables.h" -nt native/unicode_tables.py ] ||
  "${PYTHON:-python3}" native/unicode_tables.py "$build/unicode_tables.h"

# Conversions of floats that do not fit are undefined, too, but not among the checks of `undefined`.
checks=fuzzer,address,undefined,float-cast-overflow
export UBSAN_OPTIONS=print_stacktrace=1
for target in "${targets[@]}"; do
  echo "== $target: building"
  "${CXX:-clang++}" -std=c++17 -g -O1 -Wall -Wextra -ffp-contract=off -D_GLIBCXX_ASSERTIONS \
    -fsanitize=$checks -fno-sanitize-recover=all ${CXXFLAGS:-} -Inative -I"$build" \
    "fuzz/$target.cpp" -o "$build/$target"
done
for target in "${targets[@]}"; do
  echo "== $target: $minutes minutes"
  mkdir -p "$build/corpus/$target"
  # To begin with: text, and bytes that look random.
  [ -n "$(ls "$build/corpus/$target")" ] || for kilobyte in 1 2 3 4 5 6; do
    for source in sample_text/* src/treetok/shipped/en-parser.safetensors; do
      skip=$([[ $source == *.txt ]] && echo $kilobyte || echo ${kilobyte}000)
      dd if="$source" of="$build/corpus/$target/$(basename "$source")-$kilobyte" bs=1024 skip="$skip" count=1 \
        status=none
    done
  done
  seconds=$(awk "BEGIN { print int($minutes * 60) }")
  "$build/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=2048 -print_final_stats=1 \
    -artifact_prefix="$build/failed/$target-" "$build/corpus/$target"
done
