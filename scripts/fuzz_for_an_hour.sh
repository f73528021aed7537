#!/usr/bin/env bash
# Run each fuzz target for an hour: scripts/fuzz_for_an_hour.sh [TARGET ...]
exec "${PYTHON:-python3}" "$(dirname "$0")/../fuzz/run.py" --seconds 3600 "$@"
