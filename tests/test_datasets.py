"""`datasets.map` with the adapter for transformers: in several processes, and cached."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import datasets
import multiprocess
import pytest
from datasets.fingerprint import Hasher
from transformers import AutoTokenizer

from conftest import ROOT
from hf_workers import Encode
from treetok.hf import TreeTokTokenizer

LINES = {"text": ["the windsurfers", "née 東京", "<|endoftext|>", ""] * 5}


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_map_in_processes(lossless, method, monkeypatch):
    monkeypatch.setattr(multiprocess, "Pool", multiprocess.get_context(method).Pool)
    tok = TreeTokTokenizer(lossless)
    # Threads of the native core before the fork.
    tok(LINES["text"] * 50, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped = datasets.Dataset.from_dict(LINES).map(Encode(tok), batched=True, num_proc=2)
    assert mapped["input_ids"][:] == lossless.encode_batch(LINES["text"], allowed_special="all")


MAPPED_ELSEWHERE = """if True:
    import sys
    import test_datasets
    print(*test_datasets.mapped(*sys.argv[1:]))
"""


def mapped(model: str, data: str) -> tuple[str, str]:
    """The fingerprint and the cache file of a data set that was mapped with a saved tokenizer."""
    result = datasets.load_from_disk(data).map(Encode(AutoTokenizer.from_pretrained(model)), batched=True)
    return result._fingerprint, result.cache_files[0]["filename"]


def test_the_second_run_hits_the_cache(lossless, tmp_path):
    """In the same process, and in a fresh one."""
    model, data = str(tmp_path / "model"), str(tmp_path / "data")
    lossless.save(model)
    datasets.Dataset.from_dict(LINES).save_to_disk(data)
    first = mapped(model, data)
    written = Path(first[1]).stat().st_mtime_ns
    assert mapped(model, data) == first
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-c", MAPPED_ELSEWHERE, model, data]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert tuple(done.stdout.split()) == first
    assert Path(first[1]).stat().st_mtime_ns == written


def test_use_does_not_change_the_fingerprint(lossless):
    tok = TreeTokTokenizer(lossless, model_max_length=3)
    before = Hasher.hash(tok)
    # What a tokenizer keeps, such as that it has warned of a long text, must not count.
    tok(["some other text"] * 3)
    tok(["some other text"] * 3, padding=True, truncation=True, max_length=2, return_offsets_mapping=True)
    assert Hasher.hash(tok) == before


def test_fingerprints_tell_tokenizers_apart(lossless):
    plain, same, other = TreeTokTokenizer(lossless), TreeTokTokenizer(lossless), TreeTokTokenizer(lossless)
    other.add_tokens(["windsurfing"])
    hashes = [Hasher.hash(tok) for tok in (plain, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]
