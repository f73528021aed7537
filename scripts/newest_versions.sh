#!/usr/bin/env bash
# The tests of integrations, with the newest releases that a user gets from pip today and without PyTorch; the versions
# of `[test]` are fixed. Ends by printing those it took.
#
#   bash scripts/newest_versions.sh [DIRECTORY]     where the environment is made anew (.venv-newest)
set -euo pipefail
cd "$(dirname "$0")/.."
place=${1:-.venv-newest}

python3 -m venv --clear "$place"
# What `[hf,parquet,zstd,cluster]` has, but for Ray, which is large.
"$place/bin/pip" install -q '.[hf,parquet,zstd]' daft datasets jinja2 pytest pytest-xdist hypothesis
"$place/bin/python" - <<'CHECK'
from importlib.util import find_spec

from treetok.native import why_not_native

assert find_spec("torch") is None, "PyTorch is here: something has begun to depend on it"
assert why_not_native() is None, why_not_native()
CHECK
"$place/bin/python" -m pytest -n 2 -p no:cacheprovider \
    tests/test_hf*.py tests/test_datasets.py tests/test_corpus.py tests/test_plain_interface.py tests/test_concurrency.py \
    tests/cluster/test_on_daft.py tests/cluster/test_shard_folder.py tests/cluster/test_shards.py
"$place/bin/pip" list | grep -iE '^(transformers|tokenizers|datasets|numpy|pyarrow|daft|zstandard|regex|safetensors|huggingface_hub|jinja2) '
