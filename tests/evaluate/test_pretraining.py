"""Pretraining of language models: documents, streams of ids, training in one pass, scores, and the experiment as a
command."""

import dataclasses
import json
import lzma
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT

torch = pytest.importorskip("torch")

from gpt_pretraining.documents import documents, parts, training_parts  # noqa: E402
from gpt_pretraining.network import Gpt, NetworkConfig  # noqa: E402
from gpt_pretraining.runs import PretrainingRun, finished_run, load_runs  # noqa: E402
from gpt_pretraining.scoring import nats_of_stream, nats_of_texts  # noqa: E402
from gpt_pretraining.tables import bits_at_equal_flops, tables  # noqa: E402
from gpt_pretraining.token_stream import NumberedTexts, lossless, number_words  # noqa: E402
from gpt_pretraining.token_tables import (  # noqa: E402
    TokenTable,
    distinct_words,
    load_tables,
    load_words,
    save_words,
    table_of,
)
from gpt_pretraining.training import Curve, TrainingConfig, Windows, train  # noqa: E402
from treetok.errors import TreetokError  # noqa: E402
from treetok.evaluate.baselines.subword import train_baseline  # noqa: E402
from treetok.evaluate.load_tokenizer import load_tokenizer  # noqa: E402

TINY = NetworkConfig(layers=1, dimension=32, context=8)
TEXTS = [
    "The windsurfers' 1234 boards,\n  unhappily  wet.\n",
    "naïve 漢字漢字漢字漢字漢字\n",
    "\tHTMLParser = x\n\n",
]


def numbered(*texts, processes=1):
    words = distinct_words(map(lossless().split, texts))
    return words, number_words(texts, words, processes)


# ---- text


@given(st.lists(st.text(alphabet="ab \n", max_size=20), max_size=8), st.integers(1, 20))
def test_parts_are_all_lines_of_a_document_in_order(lines, size):
    lines = [line.replace("\n", "") for line in lines]
    for document in documents(lines):
        found = list(parts(document, size))
        assert "".join(found) == "".join(line + "\n" for line in document)
        assert all(len(part) >= size for part in found[:-1]) and all(found)


def test_training_text_is_shuffled_in_the_same_way_each_time(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"document {number}\n\n" for number in range(50)), "utf-8")
    everything = training_parts([text], 10**6)
    assert sorted(everything) == sorted(f"document {number}\n" for number in range(50))
    assert everything != sorted(everything)
    some = training_parts([text], 100)
    assert everything[: len(some)] == some and sum(map(len, some[:-1])) < 100 <= sum(map(len, some))


def test_streams_are_what_the_tokenizers_make_of_documents():
    words, texts = numbered(*TEXTS)
    tree = load_tokenizer("en")
    expected = [[*(token + 1 for token in tree.tokenizer.encode(text)), 0] for text in TEXTS]
    table = table_of(tree, words)
    assert texts.stream(table).tolist() == [*expected[0], *expected[1], *expected[2]]
    assert texts.stream(table, [2, 0]).tolist() == expected[2] + expected[0]
    assert texts.tokens_of_texts(table).tolist() == list(map(len, expected))
    assert texts.sizes.tolist() == [len(text.encode()) for text in TEXTS]
    bpe = train_baseline("bpe", dict.fromkeys(words, 5), 300, lossless())
    table = table_of(bpe, words)
    number = dict(zip(table.flat.tolist(), [token for word in words for token in bpe.tokenize(word)], strict=True))
    assert [number.get(token) for token in texts.stream(table)] == [
        token for text in TEXTS for token in [*bpe.tokenize(text), None]
    ]


def test_tables_are_read_as_they_were_written(tmp_path):
    words, _ = numbered(*TEXTS)
    table = table_of(load_tokenizer("en"), words, "its identity")
    path = tmp_path / "one.table.xz"
    table.save(path)
    [found] = load_tables(tmp_path, words)
    assert (found.name, found.entries, found.tokenizer) == (table.name, table.entries, "its identity")
    assert found.flat.tolist() == table.flat.tolist() and found.first.tolist() == table.first.tolist()
    assert found.sha256 == table.sha256
    with pytest.raises(TreetokError, match="of other words"):
        load_tables(tmp_path, words[::-1])
    content = path.read_bytes()
    for damaged in (b"", content[:-9], b"plain text", lzma.compress(b"plain text"), lzma.compress(b"")):
        path.write_bytes(damaged)
        with pytest.raises(TreetokError, match=r"one\.table\.xz is damaged"):
            TokenTable.load(path)
    with pytest.raises(TreetokError, match="has no tables"):
        load_tables(tmp_path / "elsewhere", words)


def test_words_are_read_as_they_were_written(tmp_path):
    save_words(["a", "\x00", "\n", "漢"], tmp_path)
    assert load_words(tmp_path) == ["a", "\x00", "\n", "漢"]
    for damaged in (b"", b"plain text", lzma.compress(b"[")):
        (tmp_path / "words.json.xz").write_bytes(damaged)
        with pytest.raises(TreetokError, match=r"words\.json\.xz is damaged"):
            load_words(tmp_path)


def test_words_are_numbered_by_several_processes_as_by_one():
    texts = [f"line {number} of {number % 7}\n" for number in range(600)]
    words, one = numbered(*texts)
    several = number_words(texts, words, processes=2)
    assert list(map(np.ndarray.tolist, one.words)) == list(map(np.ndarray.tolist, several.words))
    with pytest.raises(TreetokError, match="' elsewhere' is not in the tables"):
        number_words(["line elsewhere"], words, processes=1)


# ---- training


def stream_table(entries):
    """Every word is one token."""
    return TokenTable("one", entries, np.arange(1, entries + 1, dtype=np.uint32), np.arange(entries + 1))


def random_texts(seed, count=60, entries=9):
    random = np.random.default_rng(seed)
    words = [
        np.append(random.integers(0, entries, random.integers(1, 30)), -1).astype(np.int32) for _ in range(count)
    ]
    return NumberedTexts(words, np.array([3 * len(one) for one in words]))


@given(st.integers(0, 100), st.integers(20, 400))
def test_steps_are_windows_of_the_stream_one_after_the_other(seed, bytes_per_step):
    texts = random_texts(seed)
    ids = texts.stream(stream_table(9))
    windows = Windows.of(ids, int(texts.sizes.sum()), bytes_per_step, 4, "cpu")
    batches = [windows.batch(start, end) for start, end in pairwise(windows.ends.tolist())]
    inputs, targets = (torch.cat([b[side].flatten() for b in batches]).tolist() for side in (0, 1))
    assert targets == ids[: len(targets)].tolist() and len(ids) - len(targets) < 4
    assert inputs == [0, *targets[:-1]]
    sizes = {len(input_BT) for input_BT, _ in batches}
    assert max(sizes) - min(sizes) <= 1
    # Every id is three bytes here. The steps do not depend on the tokens, as long as each has one window at least.
    assert len(batches) == min(max(1, round(3 * len(ids) / bytes_per_step)), len(ids) // 4)


def test_a_text_shorter_than_a_window_is_refused():
    with pytest.raises(TreetokError, match="too few for a context of 4"):
        Windows.of(np.array([1, 2, 3], dtype=np.uint32), 9, 9, 4, "cpu")


def test_losses_are_those_of_unseen_text_and_fall():
    random = np.random.default_rng(0)
    # Words come in pairs: half of them can be known.
    words = [np.append(np.repeat(random.integers(0, 8, 20), 2), -1).astype(np.int32) for _ in range(400)]
    texts = NumberedTexts(words, np.full(400, 41))
    config = TrainingConfig(learning_rate=1e-2, bytes_per_step=41 * 4)
    trained = train(stream_table(8), texts, TINY, config, seed=1, device="cpu")
    curve = trained.curve
    # Without the pairs it would be 2.9, and 1.5 at best.
    assert curve.bits_per_byte[0] > 2.9 and 1.5 < curve.bits_per_byte[-1] < 2.5
    figures = trained.figures
    assert figures["tokens"] == 400 * 41 == figures["bytes"]
    # What is left over at the end is less than a window; every token is a byte.
    assert 0 <= figures["bytes"] - curve.bytes_seen[-1] < TINY.context
    assert curve.flops[-1] == figures["flops"] == curve.bytes_seen[-1] * flops_by_hand(9)
    assert figures["steps"] == 100
    again = train(stream_table(8), texts, TINY, config, seed=1, device="cpu")
    assert again.curve == curve
    assert train(stream_table(8), texts, TINY, config, seed=2, device="cpu").curve != curve


def flops_by_hand(vocabulary):
    """Two for each parameter of a matrix, three times for forward and backward, and attention to half of the
    context."""
    matrices = 32 * 96 + 32 * 32 + 32 * 128 + 128 * 32 + vocabulary * 32
    attention = 2 * (2 * 32 * 8 / 2)
    return 3 * (2 * matrices + attention)


# ---- scores


def tiny_model(vocabulary=10, context=8):
    torch.manual_seed(0)
    model = Gpt(vocabulary, NetworkConfig(1, 32, context), torch.float32)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


@torch.no_grad()
@settings(max_examples=20)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_every_token_is_scored_given_at_least_half_a_context(ids):
    model = tiny_model()
    found = nats_of_stream(model, np.array(ids, dtype=np.uint32), "cpu")
    for at, token in enumerate(ids):
        # Windows begin at multiples of half a context, before which there are ends of documents.
        start = at // 4 * 4
        before = [0] * 5 + ids
        context = before[start : at + 5]
        inputs = torch.tensor([context + [0] * (8 - len(context))])
        targets = torch.full_like(inputs, token)
        assert found[at] == pytest.approx(float(model(inputs, targets)[0, len(context) - 1]), abs=1e-4)


def test_likelihood_is_that_of_a_distribution():
    model = tiny_model(vocabulary=128)
    inputs = torch.randint(0, 128, (1, 8))
    with torch.no_grad():
        nats = torch.stack([model(inputs, torch.full_like(inputs, token))[0] for token in range(128)])
    assert torch.allclose((-nats).exp().sum(0), torch.ones(8), atol=1e-4)


def test_nats_of_documents_add_up():
    model, texts, table = tiny_model(), random_texts(3), stream_table(9)
    nats = nats_of_texts(model, texts, table, "cpu")
    assert len(nats) == len(texts.words) and (nats > 0).all()
    assert nats.sum() == pytest.approx(nats_of_stream(model, texts.stream(table), "cpu").sum())


# ---- runs and tables


def made_up_run(tokenizer, seed=0, *, flops=100.0, slope=-0.5, height=1.0, nats=(10.0, 20.0, 5.0)):
    """A run whose curve is `height` + `slope` log(share of the text)."""
    ends = np.arange(1, 101)
    middle = (ends - 0.5) / 100
    curve = Curve((100 * ends).tolist(), (flops * ends / 100).tolist(), (height + slope * np.log(middle)).tolist())
    sizes = {"wiki.test": [10, 20], "news": [30]}
    return PretrainingRun(
        tokenizer,
        32000,
        "its table",
        "small",
        seed,
        {
            "network": dataclasses.asdict(TINY),
            "training": dataclasses.asdict(TrainingConfig(1e-3, 100)),
            "held_out_bytes": sizes,
        },
        {"parameters": 1, "tokens": 1, "steps": 1, "bytes": 10_000, "flops": flops, "seconds": 1.0,
         "device": "CPU", "frequency_mismatch": {"wiki.test": 0.25, "news": 0.5}},
        curve,
        {"wiki.test": list(nats[:2]), "news": list(nats[2:])},
    )  # fmt: skip


def test_bits_at_equal_operations_are_read_off_the_curves():
    dear = [made_up_run("dear", seed, flops=125.0) for seed in range(2)]
    found = bits_at_equal_flops({"cheap": [made_up_run("cheap")], "dear": dear})
    at_end = 1.0 - 0.5 * np.log(0.75)
    assert found["cheap"] == pytest.approx((at_end, at_end))
    # It had seen four fifths of that text when it had had as many operations.
    assert found["dear"] == pytest.approx((at_end, 1.0 - 0.5 * np.log(0.75 * 0.8)))


def test_training_text_is_compared_in_the_same_order():
    both, first, second = made_up_run("TreeTok en"), made_up_run("BPE"), made_up_run("TreeTok en", 1, height=9.0)
    costs = tables([both, second, first])[1]["grid"]
    # The second seed of one tokenizer has no counterpart.
    assert costs[1][5:7] == costs[2][5:7] and costs[1][-1] == "1, 1"


def test_tables_have_the_mean_of_seeds():
    bits = np.log(2)
    runs = [
        made_up_run("TreeTok en", nats=(10 * bits, 20 * bits, 30 * bits)),
        made_up_run("TreeTok en", 1, nats=(20 * bits, 40 * bits, 90 * bits)),
        made_up_run("BPE", nats=(20 * bits, 40 * bits, 60 * bits)),
    ]
    found = tables(runs)
    assert [table["title"] for table in found] == [
        "small, 32000 entries: bits per byte of held-out text",
        "small, 32000 entries: what it took",
        "small, 32000 entries: how unlike training text held-out text is",
    ]
    header, tree, bpe = found[0]["grid"]
    assert header == ["tokenizer", "wiki.test", "news", "all", "all but WikiText", "all, each seed"]
    assert tree == ["TreeTok en", "1.5000", "2.0000", "1.7500", "2.0000", "1.0000, 2.5000"]
    assert [cell.split(" (")[0] for cell in bpe] == ["BPE", "2.0000", "2.0000", "2.0000", "2.0000", "2.0000"]
    assert found[2]["grid"][1] == ["TreeTok en", "0.2500", "0.5000"]


def test_another_spelling_of_a_text_is_not_counted_twice():
    run = made_up_run("TreeTok en", nats=(10 * np.log(2), 20 * np.log(2), 60 * np.log(2)))
    run.settings["held_out_bytes"]["wiki.test.plain"] = [5]
    run.nats["wiki.test.plain"] = [50 * np.log(2)]
    run.figures["frequency_mismatch"]["wiki.test.plain"] = 0.125
    header, row = tables([run])[0]["grid"]
    found = dict(zip(header, row, strict=True))
    assert found["wiki.test.plain"] == "10.0000"
    assert [found[column] for column in ("all", "all but WikiText", "all, each seed")] == [
        "1.5000",
        "2.0000",
        "1.5000",
    ]


def test_runs_of_other_settings_are_refused(tmp_path):
    run = made_up_run("BPE")
    run.save(tmp_path)
    assert load_runs(tmp_path) == [run] and finished_run(tmp_path, run.name, run.settings, "its table") == run
    assert finished_run(tmp_path, "another", run.settings, "its table") is None
    with pytest.raises(TreetokError, match="of another training"):
        finished_run(tmp_path, run.name, {**run.settings, "training": {}}, "its table")
    with pytest.raises(TreetokError, match="of another tokenizer"):
        finished_run(tmp_path, run.name, run.settings, "another table")
    dataclasses.replace(run, seed=1, settings={**run.settings, "text": "other"}).save(tmp_path)
    with pytest.raises(TreetokError, match="cannot be compared"):
        load_runs(tmp_path)
    content = json.loads((tmp_path / f"{run.name}.json").read_text("utf-8"))
    short = {**content["nats"], "news": []}
    for part in ({"nats": {}}, {"nats": short}, {"figures": {}}, {"settings": []}, {"curve": 1}, {"other": 1}):
        (tmp_path / "bad-seed0.json").write_text(json.dumps({**content, **part}), "utf-8")
        with pytest.raises(TreetokError, match="bad-seed0"):
            load_runs(tmp_path)


# ---- the command


def pretraining(*arguments):
    command = [sys.executable, ROOT / "experiments" / "pretraining.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


def test_the_experiment_from_text_to_tables(tmp_path):
    out = tmp_path / "pretraining.json"
    arguments = ["--quick", "--folder", tmp_path / "tables", "--out", out, "--device", "cpu"]
    first = pretraining(*arguments)
    assert first.returncode == 0, first.stderr
    result = json.loads(out.read_text("utf-8"))
    assert [row[0] for table in result["tables"] for row in table["grid"][1:]].count("TreeTok en") == 3
    runs = sorted((tmp_path / "pretraining").glob("*.json"))
    assert [path.name for path in runs] == ["BPE-500-tiny-seed0.json", "TreeTok-en-32002-tiny-seed0.json"]
    # What is there is not trained again, and models can be added.
    times = [path.stat().st_mtime_ns for path in runs]
    second = pretraining(*arguments, "--seeds", "2", "--only", "BPE-500")
    assert second.returncode == 0 and "BPE-500-tiny-seed1" in second.stdout, second.stderr
    assert [path.stat().st_mtime_ns for path in runs] == times
    # A tokenizer, a baseline or a text that changed is noticed.
    for changed, said in [
        (["--tokenizer-text", ROOT / "sample_text" / "sport.txt"], "BPE-500.table.xz is of another tokenizer"),
        (["--train-text", ROOT / "sample_text" / "sport.txt"], "is of another training"),
        (["--train-text", ROOT / "sample_text" / "sport.txt", "--runs", tmp_path / "new"], "is not in the tables"),
    ]:
        found = pretraining(*arguments, *changed)
        assert found.returncode == 1 and said in found.stderr.splitlines()[-1]
    # Without text, tables are made of what is there.
    plot = tmp_path / "curves.svg"
    third = pretraining("--out", out, "--plot", plot)
    assert third.returncode == 0, third.stderr
    each_seed = json.loads(out.read_text("utf-8"))["tables"][0]["grid"][1][-1]
    assert len(each_seed.split(", ")) == 2
    # Two panels for each of the two sizes of the vocabulary.
    assert plot.read_text("utf-8").count("bits per byte of training text") >= 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--quick", "--baseline", "bpe"], "as in bpe:32000, not 'bpe'"),
        (["--quick", "--baseline", "morfessor:500"], "a baseline is one of bpe, unigram, wordpiece"),
        (["--quick", "--baseline", "bpe:9000"], "entries, not 9000"),
        (["--quick", "--megabytes", "inf"], "--megabytes must be above 0 and finite"),
        (["--quick", "--text", "a/news.txt", "--text", "b/news.txt"], "the same name"),
        (["--quick", "--text", "/dev/null"], "the held-out text null is empty"),
        (["--quick", "--train-text", "/dev/null"], "there is no text to train on"),
        (["--prepare"], "nothing to be done without a text"),
        (["--quick", "--model", "en-uncased"], "no TreeTok tokenizer of the newest profile lossless"),
        (["--quick", "--only", "GPT"], "no table of 'GPT'"),
        (["--train", "--train-text", "none.txt", "--text", "some.txt"], "words.json.xz is missing"),
        (["--train-text", "none.txt"], "measured on held-out text"),
        (["--quick", "--seeds", "0"], "--seeds must be at least 1"),
        (["--quick", "--plot", "."], "argument --plot: '.' is a directory, not a file"),
        (["--quick", "--device", "foo"], "argument --device: invalid choice: 'foo'"),
        ([], "no model has been trained yet"),
    ],
)
def test_bad_options_are_one_line(tmp_path, arguments, said):
    found = pretraining(*arguments, "--folder", tmp_path / "tables", "--out", tmp_path / "out" / "none.json")
    assert found.returncode in (1, 2) and said in found.stderr.splitlines()[-1]
    assert "Traceback" not in found.stderr and not (tmp_path / "out" / "none.json").exists()


def test_a_missing_gpu_is_noticed_before_texts_are_read(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    arguments = ["--quick", "--device", "cuda", "--train-text", tmp_path / "none.txt"]
    found = pretraining(*arguments, "--folder", tmp_path / "tables", "--out", tmp_path / "none.json")
    assert found.returncode == 1 and "no GPU for device 'cuda'" in found.stderr
