"""One tokenizer in many threads and worker processes."""

import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import SAMPLE_FILES
from hf_workers import Encode
from treetok.hf import TreeTokTokenizer

TEXTS = [line for path in SAMPLE_FILES for line in path.read_text(encoding="utf-8").split("\n")]
# Of every call, its own; tokenizers in Rust keep them for the next.
OPTIONS = [
    {},
    {"padding": True, "return_tensors": "np"},
    {"truncation": True, "max_length": 8, "stride": 2, "return_overflowing_tokens": True},
    {"padding": "max_length", "truncation": True, "max_length": 16, "padding_side": "left"},
    {"return_offsets_mapping": True},
]


def results(tok: TreeTokTokenizer, number: int) -> dict[str, object]:
    texts = TEXTS[number * 7 % 100 :][:20]
    encoded = tok(texts, **OPTIONS[number % len(OPTIONS)])
    columns = {name: column if isinstance(column, list) else column.tolist() for name, column in encoded.items()}
    return columns | {"text": tok.batch_decode(columns["input_ids"], skip_special_tokens=True)}


def test_64_threads_share_a_tokenizer(lossless):
    tok = TreeTokTokenizer(lossless)
    alone = [results(tok, number) for number in range(len(OPTIONS) * 4)]
    together = threading.Barrier(64)

    def work(number: int) -> bool:
        together.wait()
        return all(results(tok, k) == alone[k] for k in [(number + k) % len(alone) for k in range(len(alone))])

    with ThreadPoolExecutor(64) as threads:
        assert all(threads.map(work, range(64)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader(lossless, method):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
    tok = TreeTokTokenizer(lossless)
    tok(TEXTS, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = torch.utils.data.DataLoader(
            TEXTS[:64], batch_size=16, num_workers=2, collate_fn=Encode(tok), multiprocessing_context=method
        )
        batches = list(loader)
    assert [ids for batch in batches for ids in batch["input_ids"]] == lossless.encode_batch(TEXTS[:64])


def test_pickle(lossless):
    tok = TreeTokTokenizer(lossless, padding_side="left")
    tok.add_tokens(["windsurf"])
    again = pickle.loads(pickle.dumps(tok))
    assert again.treetok == tok.treetok
    assert (again.padding_side, len(again)) == ("left", len(tok))
    assert again("windsurfing <|endoftext|>")["input_ids"] == tok("windsurfing <|endoftext|>")["input_ids"]
    before = pickle.dumps(tok)
    tok(TEXTS, padding=True, truncation=True, max_length=9)
    assert pickle.dumps(tok) == before
