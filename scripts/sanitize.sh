#!/usr/bin/env bash
# Run the tests of the native core under AddressSanitizer and UndefinedBehaviorSanitizer, and its word table under
# ThreadSanitizer. Stops with an error at the first finding.
#
# scripts/sanitize.sh [PYTEST ARGUMENTS]     (default: all tests that use the core, then 200,000 generated texts)
# scripts/sanitize.sh --short                (for CI: without the tests, and 5,000 texts)
#
# PYTHON (default: python3) must have the packages of `pip install '.[test]'` and of the build; CXX is a g++.
# Nothing is installed, and the checkout is not changed: the package is built from a copy.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(realpath -s "$(command -v "${PYTHON:-python3}")")
cxx=${CXX:-g++}
texts=200000
if [ "${1:-}" = --short ]; then
  texts=5000
  export TREETOK_SECONDS_OF_THREADS=5
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== threads"
mkdir "$work/tables"
"$python" native/unicode_tables.py "$work/tables/unicode_tables.h"
"$cxx" -std=c++17 -g -O1 -Wall -Wextra -ffp-contract=off -fsanitize=thread -Inative -Ifuzz -I"$work/tables" \
  fuzz/threads.cpp -o "$work/threads" -pthread
TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 "$work/threads" "${TREETOK_SECONDS_OF_THREADS:-20}"

echo "== building with AddressSanitizer and UndefinedBehaviorSanitizer"
checks=address,undefined,float-cast-overflow
flags="-fsanitize=$checks -fno-sanitize-recover=all -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS -g -O1"
mkdir "$work/copy"
cp -r CMakeLists.txt README.md pyproject.toml benchmarks experiments native results sample_text scripts src tests \
  "$work/copy"
rm -f "$work"/copy/src/treetok/_core*
# Optimised as for release, some errors are gone before they are seen.
sed -i 's/-O3/-O1/' "$work/copy/CMakeLists.txt"
cmake -S "$work/copy" -B "$work/build" -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=None -DTREETOK_HARDENING=OFF \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags" >"$work/cmake.log" ||
  { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/build" --parallel 2 >"$work/build.log" || { cat "$work/build.log"; exit 1; }
cp "$work"/build/_core* "$work/copy/src/treetok"

echo "== tests"
cd "$work/copy"
# Python itself is not instrumented: the libraries have to be there before it starts, and what it never frees is no
# leak. With the allocator of C, reads beyond its strings and arrays are noticed, too.
preload="$("$cxx" -print-file-name=libasan.so):$("$cxx" -print-file-name=libubsan.so)"
# Some libraries of C++ must be loaded before exceptions are thrown through them.
preload+=":$("$cxx" -print-file-name=libstdc++.so)"
# An editable installation would come before the copy.
mkdir "$work/site"
cat >"$work/site/sitecustomize.py" <<'END'
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if "_editable_" not in type(finder).__module__]
END
export PYTHONPATH="$work/site:$work/copy/src" PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1
# A core that cannot be loaded would skip the tests, and another one would pass them.
export SANITIZED=$work/copy/src/treetok
LD_PRELOAD=$preload "$python" -c '
import os
from treetok import _core
assert _core.__file__.startswith(os.environ["SANITIZED"]), _core.__file__
'
tests=(native parser_native tokenizer storage parser_storage damaged_models text long_input lexicon markers shipped
  cli vocab_tsv unchanged profile_versions encode_files corpus counts)
if [ $# -eq 0 ]; then
  # This one runs Python without these settings.
  set -- --deselect tests/test_cli.py::test_output_is_utf8_in_any_locale
  for name in "${tests[@]}"; do set -- "$@" "tests/test_$name.py"; done
fi
[ "$1" = --short ] || LD_PRELOAD=$preload "$python" -m pytest -p no:cacheprovider "$@"

echo "== texts"
LD_PRELOAD=$preload "$python" scripts/check_texts.py --texts "$texts" --reference 0 --processes 2
