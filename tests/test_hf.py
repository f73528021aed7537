"""`treetok.hf`: TreeTok in transformers. Beside tokenizers in Rust: `test_hf_rust.py`."""

import json
import pickle
import random
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AddedToken, AutoTokenizer, DataCollatorForLanguageModeling, TextStreamer

from conftest import SAMPLE_FILES
from treetok import TreeTokenizer, TreetokError
from treetok.hf import TreeTokTokenizer

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{% if message.role == 'assistant' %}{% generation %}"
    "{{ message.content }}{% endgeneration %}{% else %}{{ message.content }}{% endif %}{{ eos_token }}{% endfor %}"
)


@pytest.fixture(scope="module")
def directory(lossless, tmp_path_factory) -> Path:
    """As `TreeTokenizer.save` wrote it."""
    path = tmp_path_factory.mktemp("saved") / "lossless"
    lossless.save(path)
    return path


@pytest.fixture
def tok(lossless) -> TreeTokTokenizer:
    return TreeTokTokenizer(lossless)


@pytest.fixture
def bert_like(uncased) -> TreeTokTokenizer:
    return TreeTokTokenizer(uncased)


def pytorch():
    """For what needs it; the tokenizer does not."""
    return pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")


def random_texts(number: int) -> list[str]:
    """From all of Unicode, with runs of letters and spaces so that there are words."""
    generator = random.Random(0)
    alphabets = [
        (0x20, 0x7F),
        (0x20, 0x7F),
        (0xA0, 0x250),
        (0x370, 0x600),
        (0x3000, 0xA000),
        (0, 0xD800),
        (0xE000, 0x110000),
    ]
    texts = []
    for _ in range(number):
        runs = [generator.choice(alphabets) for _ in range(generator.randrange(5))]
        texts.append(
            " ".join(
                "".join(chr(generator.randrange(*run)) for _ in range(generator.randrange(9))) for run in runs
            )
        )
    return texts


# ---- ids and offsets


@pytest.mark.parametrize("name", ["en", "lossless"])
def test_auto_tokenizer_gives_the_ids_of_treetok(name, lossless, tmp_path):
    plain = lossless if name == "lossless" else TreeTokenizer.load(name)
    plain.save(tmp_path)
    tok = AutoTokenizer.from_pretrained(tmp_path)
    assert type(tok) is TreeTokTokenizer
    texts = random_texts(5000)
    encoded = tok(texts, return_offsets_mapping=True)
    assert encoded["input_ids"] == plain.encode_batch(texts)
    assert encoded["attention_mask"] == [[1] * len(ids) for ids in encoded["input_ids"]]
    assert tok.batch_decode(encoded["input_ids"]) == texts
    for text, offsets in zip(texts, encoded["offset_mapping"], strict=True):
        assert "".join(text[start:end] for start, end in offsets) == text


@given(st.text())
def test_one_text_is_as_in_a_batch(lossless, text):
    tok = TreeTokTokenizer(lossless)
    ids = lossless.encode(text, allowed_special="all")
    assert tok(text)["input_ids"] == tok([text])["input_ids"][0] == tok.encode(text) == ids
    assert tok.convert_tokens_to_ids(tok.tokenize(text)) == ids
    assert tok.convert_tokens_to_string(tok.tokenize(text)) == tok.decode(ids) == text


def test_special_tokens_in_text(tok):
    end = tok.eos_token
    assert tok.encode(f"one{end}two") == [*tok.encode("one"), tok.eos_token_id, *tok.encode("two")]
    # As plain text, which is what TreeTokenizer does by default.
    assert tok.encode(end, split_special_tokens=True) == tok.treetok.encode(end)
    assert tok.decode(tok.encode(f"one{end}two"), skip_special_tokens=True) == "onetwo"
    assert tok.decode([tok.encode("one"), tok.encode("two")]) == ["one", "two"]
    assert tok.decode(tok.eos_token_id) == end


@given(text=st.text(alphabet="ab <|x|>\n"), space=st.booleans())
def test_added_tokens_in_text(lossless, text, space):
    tok = TreeTokTokenizer(lossless)
    assert tok.add_tokens(["<ab", AddedToken("b<", lstrip=space, rstrip=space)]) == 2
    assert tok.add_special_tokens({"extra_special_tokens": ["<|x|>"]}) == 1
    assert len(tok) == lossless.vocab_size + 3 == len(tok.get_vocab())
    encoded = tok(text, return_offsets_mapping=True)
    assert "".join(text[start:end] for start, end in encoded["offset_mapping"]) == text
    for token, (start, end) in zip(encoded.tokens(), encoded["offset_mapping"], strict=True):
        if token in ("<ab", "b<", "<|x|>"):
            assert text[start:end].strip() == token
    if not space:
        assert tok.decode(encoded["input_ids"]) == text
    without = tok.decode(encoded["input_ids"], skip_special_tokens=True)
    assert "<|x|>" not in without or "<|x|>" not in text


def test_a_token_of_the_vocabulary_can_be_added(tok):
    """It keeps its id, and is found before words are."""
    assert tok.add_tokens([" the"]) == 0
    assert tok.tokenize("see theory") == [*tok.tokenize("see"), " the", *tok.tokenize("ory")]


def test_strings_of_tokens_and_words(tok, bert_like):
    assert tok.convert_tokens_to_string(["no such token", " the", "<0xC3>", "<0xA9>"]) == "no such token theé"
    assert bert_like.convert_tokens_to_string(["the", "windsurfers"]) == "the windsurfers"


def test_many_added_tokens_are_found(tok):
    names = [f"<extra{number}>" for number in range(3000)]
    assert tok.add_tokens(names) == 3000
    assert tok.tokenize("".join(names[::-1])) == names[::-1]


def test_words_given_one_by_one(tok):
    words = ["Windsurfers", "don't", "surf", ",", "they", "windsurf"]
    encoded = tok(words, is_split_into_words=True, return_offsets_mapping=True)
    running = " Windsurfers don't surf, they windsurf"
    assert encoded["input_ids"] == tok.encode(running)
    assert list(dict.fromkeys(encoded.word_ids())) == list(range(len(words)))
    of_words = zip(encoded.word_ids(), encoded["offset_mapping"], strict=True)
    pieces: dict[int, str] = {}
    for word, (start, end) in of_words:
        pieces[word] = pieces.get(word, "") + words[word][start:end]
    assert list(pieces.values()) == words
    batch = tok([words, [], ["a"]], is_split_into_words=True)
    assert batch["input_ids"] == [encoded["input_ids"], [], tok.encode(" a")]
    assert tok([(words, ["a"])], is_split_into_words=True)["input_ids"] == [
        [*encoded["input_ids"], *tok.encode(" a")]
    ]


def test_pairs_in_all_forms(bert_like):
    expected = bert_like(["one", "two"], ["three", "four"])
    assert dict(bert_like([("one", "three"), ("two", "four")])) == dict(expected)
    assert dict(bert_like([["one", "three"], ["two", "four"]])) == dict(expected)
    single = bert_like("one", "three")
    assert {name: [value] for name, value in single.items()} == {
        name: values[:1] for name, values in expected.items()
    }
    assert bert_like.decode(single["input_ids"]) == "[CLS] one [SEP] three [SEP]"


def test_threads_do_not_change_ids(tok, sample_text):
    lines = sample_text.split("\n")
    assert tok(lines, threads=4)["input_ids"] == tok(lines)["input_ids"]


# ---- tensors, collators, streaming


@pytest.mark.parametrize("tensors", ["pt", "np"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_tensors_are_the_padded_lists(bert_like, tensors, side):
    kind = pytorch().Tensor if tensors == "pt" else np.ndarray
    options = {
        "padding": True,
        "padding_side": side,
        "return_offsets_mapping": True,
        "return_special_tokens_mask": True,
    }
    texts = ["the windsurfers", "a", ""]
    as_lists, as_tensors = bert_like(texts, **options), bert_like(texts, return_tensors=tensors, **options)
    assert as_lists.keys() == as_tensors.keys()
    for name, rows in as_lists.items():
        assert isinstance(as_tensors[name], kind)
        assert str(as_tensors[name].dtype).removeprefix("torch.") == "int64"
        assert as_tensors[name].tolist() == [[list(x) if isinstance(x, tuple) else x for x in row] for row in rows]
    assert bert_like("one", return_tensors=tensors)["input_ids"].shape[0] == 1
    if tensors == "pt":
        with pytest.raises(ValueError, match="padding=True"):
            bert_like(texts, return_tensors=tensors)


def test_collators(tok):
    pytorch()
    rows = [tok(text) for text in ("the windsurfers tricycled", "a")]
    batch = DataCollatorForLanguageModeling(tok, mlm=False)(rows)
    longest = len(rows[0]["input_ids"])
    assert batch["input_ids"][1].tolist() == tok.encode("a") + [tok.pad_token_id] * (
        longest - len(rows[1]["input_ids"])
    )
    assert batch["labels"][1, -1] == -100
    masked = DataCollatorForLanguageModeling(
        tok, mlm_probability=1.0, seed=0, mask_replace_prob=1.0, random_replace_prob=0.0
    )
    assert masked(rows)["input_ids"][0].tolist() == [tok.mask_token_id] * longest


def test_text_streamer(tok, capsys):
    torch = pytorch()
    text = "Windsurfers née in 東京\nwere unhappy."
    streamer = TextStreamer(tok, skip_special_tokens=True)
    for token in [*tok.encode(text), tok.eos_token_id]:
        streamer.put(torch.tensor([token]))
    streamer.end()
    assert capsys.readouterr().out == text + "\n"


def test_encodings_can_be_sent_to_other_processes(tok):
    encoded = tok(["the windsurfers", "a"])
    pickled = pickle.dumps(encoded)
    assert len(pickled) < 5000
    assert pickle.loads(pickled).word_ids(0) == encoded.word_ids(0)


# ---- chat


def test_chat_template(lossless):
    plain = lossless.with_special_tokens(["<|user|>", "<|assistant|>"])
    tok = TreeTokTokenizer(plain, chat_template=CHAT_TEMPLATE)
    chat = [{"role": "user", "content": "Is <|assistant|> one token?"}, {"role": "assistant", "content": "It is."}]
    text = tok.apply_chat_template(chat, tokenize=False)
    encoded = tok.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
    assert encoded["input_ids"] == plain.encode(text, allowed_special="all")
    answer = [token for token, mask in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True) if mask]
    assert tok.decode(answer) == "It is."


# ---- saving and loading


def test_saved_and_loaded_again(lossless, tmp_path):
    tok = TreeTokTokenizer(
        lossless,
        padding_side="left",
        truncation_side="left",
        model_max_length=77,
        chat_template=CHAT_TEMPLATE,
        special_tokens_pattern="bos_eos",
        extra_special_tokens={"image_token": "<image>"},
    )
    tok.add_tokens(["windsurf", AddedToken("<n>", lstrip=True)])
    tok.add_special_tokens({"sep_token": "<sep>", "extra_special_tokens": ["<one>"]})
    tok.pad_token = None
    tok.save_pretrained(tmp_path / "saved")
    again = AutoTokenizer.from_pretrained(tmp_path / "saved")
    for name in ("padding_side", "truncation_side", "model_max_length", "chat_template", "special_tokens_pattern"):
        assert getattr(again, name) == getattr(tok, name)
    assert again.special_tokens_map == tok.special_tokens_map
    assert (again.pad_token, again.image_token, again.sep_token) == (None, "<image>", "<sep>")
    assert again.get_vocab() == tok.get_vocab()
    assert again.added_tokens_decoder == tok.added_tokens_decoder
    text = "the windsurfers <n><one><image>"
    assert dict(again(text)) == dict(tok(text))
    again.save_pretrained(tmp_path / "again")
    files = sorted(path.name for path in (tmp_path / "saved").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "again").iterdir())
    for name in files:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "saved" / name).read_bytes()
    # Treetok reads the directory, too, and its own tokenizer replaces all of it.
    TreeTokenizer.load(tmp_path / "saved").save(tmp_path / "saved")
    assert AutoTokenizer.from_pretrained(tmp_path / "saved").get_vocab() == TreeTokTokenizer(lossless).get_vocab()


def test_fresh_processes_load_it(tok, directory, tmp_path):
    """With `treetok.hf` imported; and without it, where remote code is trusted."""
    tok.add_tokens(["windsurf"])
    tok.save_pretrained(tmp_path)
    text = "Windsurfers tricycled: née 東京 <|endoftext|> windsurfing"
    code = """if True:
        import json, sys
        from transformers import AutoTokenizer
        text, saved, directory = sys.argv[1:]
        remote = AutoTokenizer.from_pretrained(saved, trust_remote_code=True)
        import treetok.hf
        local = AutoTokenizer.from_pretrained(saved)
        assert type(local) is type(remote) is treetok.hf.TreeTokTokenizer
        plain = AutoTokenizer.from_pretrained(directory)
        print(json.dumps([remote(text).data, local(text).data, plain(text).data]))
    """
    run = subprocess.run(
        [sys.executable, "-c", code, text, str(tmp_path), str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    remote, local, plain = json.loads(run.stdout)
    assert remote == local == dict(tok(text))
    assert plain == dict(TreeTokTokenizer(tok.treetok)(text))


def test_saved_config_is_deterministic(lossless, directory, tmp_path):
    lossless.save(tmp_path)
    assert (tmp_path / "tokenizer_config.json").read_bytes() == (directory / "tokenizer_config.json").read_bytes()


def test_in_the_directory_of_a_model(directory, tmp_path):
    """The class of the tokenizer decides, not the kind of the model."""
    TreeTokenizer.load(directory).save(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    assert type(AutoTokenizer.from_pretrained(tmp_path)) is TreeTokTokenizer
    TreeTokTokenizer(directory).save_pretrained(tmp_path)
    assert type(AutoTokenizer.from_pretrained(tmp_path)) is TreeTokTokenizer


# ---- bad input


def test_bad_texts(tok):
    for bad, message in [
        (5, "text must be str, not int"),
        (["one", None], "text 1 of the batch must be str, not NoneType"),
        ([["one", "two", "three"]], "text 0 of the batch must be str, not list"),
        ([("one", 2)], "text 0 of the batch must be str, not tuple"),
        ("\ud800", "surrogate"),
    ]:
        with pytest.raises(TreetokError, match=message):
            tok(bad)
    with pytest.raises(TreetokError, match="a list of words, since is_split_into_words=True"):
        tok(["one", 2], is_split_into_words=True)
    with pytest.raises(TreetokError, match="a text for each of the 2 texts, not 1"):
        tok(["one", "two"], ["three"])


def test_bad_ids(tok):
    for bad in (len(tok), -1, "one", 1.5):
        with pytest.raises(TreetokError, match="token id"):
            tok.decode([bad])


def test_truncation_that_cannot_be(bert_like):
    long, short = "windsurfers " * 9, "a"
    with pytest.raises(TreetokError, match=r"its first text only 1 tokens: use truncation='longest_first'"):
        bert_like(short, long, truncation="only_first", max_length=9)
    with pytest.raises(TreetokError, match="its second text only 1 tokens"):
        bert_like(long, short, truncation="only_second", max_length=9)
    with pytest.raises(TreetokError, match="needs a pair"):
        bert_like(long, truncation="only_second", max_length=9)
    with pytest.raises(TreetokError, match="max_length must be at least 2"):
        bert_like(long, truncation=True, max_length=1)
    assert bert_like.decode(bert_like(long, truncation=True, max_length=2)["input_ids"]) == "[CLS] [SEP]"
    with pytest.raises(TreetokError, match="stride must be less than the 3 tokens"):
        bert_like(long, truncation=True, max_length=5, stride=3, return_overflowing_tokens=True)


def test_shipped_names_are_not_looked_for_on_the_hub(lossless, monkeypatch, tmp_path):
    def ask(*arguments, **options):
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    monkeypatch.chdir(tmp_path)
    tok = TreeTokTokenizer.from_pretrained("en-uncased", padding_side="left")
    assert tok.padding_side == "left" and tok.special_tokens_pattern == "cls_sep"
    assert tok.treetok == TreeTokenizer.load("en-uncased")
    assert tok("the walkers") == TreeTokTokenizer("en-uncased")("the walkers")
    # As everywhere in transformers, a directory comes first.
    lossless.save("en-uncased")
    assert TreeTokTokenizer.from_pretrained("en-uncased").treetok == lossless


def test_bad_directories(directory, lossless, tmp_path):
    with pytest.raises(TreetokError, match="no tokenizer"):
        TreeTokTokenizer(tmp_path / "nowhere")
    (tmp_path / "tokenizer_config.json").write_bytes((directory / "tokenizer_config.json").read_bytes())
    with pytest.raises(TreetokError, match=r"is not a tokenizer: treetok.json is missing"):
        AutoTokenizer.from_pretrained(tmp_path)
    with pytest.raises(TreetokError, match=r"has a file tokenizer_config.json that treetok did not write"):
        TreeTokTokenizer(lossless).save_pretrained(tmp_path)
    newer = tmp_path / "newer"
    lossless.save(newer)
    head = json.loads((newer / "treetok.json").read_text(encoding="utf-8"))
    (newer / "treetok.json").write_text(json.dumps(head | {"format": 99}), encoding="utf-8")
    with pytest.raises(TreetokError, match=r"format version 99.*upgrade treetok"):
        AutoTokenizer.from_pretrained(newer)


def test_added_tokens_of_another_tokenizer(tok, uncased, tmp_path):
    tok.save_pretrained(tmp_path)
    config = (tmp_path / "tokenizer_config.json").read_bytes()
    uncased.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_bytes(config)
    with pytest.raises(TreetokError, match=r"tokenizer_config.json is not that of this tokenizer"):
        AutoTokenizer.from_pretrained(tmp_path)


@pytest.mark.parametrize("some", [{}, {"cls_token": "<|endoftext|>"}])
def test_missing_special_tokens(lossless, some):
    tok = TreeTokTokenizer(lossless, special_tokens_pattern="cls_sep", **some)
    with pytest.raises(TreetokError, match="needs tokens that this tokenizer does not have"):
        tok("one")


def test_dropout(tok, lossless, bert_like):
    texts = ["the walkers were walking<|endoftext|>", "unwalked"] * 5
    sampled = tok(texts, dropout=0.5, seed=7)["input_ids"]
    assert sampled == lossless.encode_batch(texts, dropout=0.5, seed=7, allowed_special="all")
    assert sampled != tok(texts)["input_ids"] and tok.batch_decode(sampled) == texts
    assert tok(texts, dropout=0.0)["input_ids"] == tok(texts)["input_ids"]
    assert tok.tokenize("walking", dropout=1) == list("walking")
    assert tok.tokenize(["walking"], is_split_into_words=True, dropout=1) == list(" walking")
    many = ["walking walkers"] * 50
    assert tok(many, dropout=0.5)["input_ids"] != tok(many, dropout=0.5)["input_ids"]
    # Everything else is that of the sampled tokens.
    pairs = bert_like(many, many, dropout=0.5, seed=7, padding=True, truncation=True, max_length=10)
    assert {len(row) for name in pairs for row in pairs[name]} == {10}
    # The texts of a pair are sampled independently.
    separated = ([*bert_like.decode(row).split("[SEP]")] for row in pairs["input_ids"])
    assert any(first.removeprefix("[CLS]") != second for first, second, *_ in separated)


def test_dropout_has_no_offsets(tok):
    """Those would be of the usual tokens."""
    with pytest.raises(TreetokError, match="return_offsets_mapping is not available with dropout"):
        tok("walking", dropout=0.5, return_offsets_mapping=True)
    with pytest.raises(ValueError, match="not available"):
        tok("walking", dropout=0.5).word_ids()
    with pytest.raises(TreetokError, match="dropout must be a number"):
        tok("walking", dropout=2)
    with pytest.raises(TreetokError, match="seed must be a whole number"):
        tok("walking", dropout=0.5, seed="x")


def test_options_that_do_not_exist(tok):
    """What is asked for is done or refused; what is off needs nothing."""
    chat = [{"role": "user", "content": "walking"}]
    for encode in (tok, tok.encode, tok.tokenize):
        with pytest.raises(TreetokError, match="does not know the options truncate, foo"):
            encode("walking", truncate=True, foo=0, bar=None, baz=False)
    with pytest.raises(TreetokError, match="does not know the options foo"):
        tok.apply_chat_template(chat, chat_template=CHAT_TEMPLATE, tokenizer_kwargs={"foo": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tok("walking", foo=None, bar=False) == tok("walking")
        tok.apply_chat_template(chat, chat_template=CHAT_TEMPLATE)


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"special_tokens_pattern": "cls_spe"},
            "special_tokens_pattern must be one of none, cls_sep, eos, .*'cls_spe'",
        ),
        ({"special_tokens_pattern": None}, "special_tokens_pattern must be one of none"),
        (
            {"token_type_ids_pattern": "bert"},
            "token_type_ids_pattern must be one of all_zeros, bert_style, not 'bert'",
        ),
    ],
)
def test_patterns_that_do_not_exist(lossless, options, message):
    with pytest.raises(TreetokError, match=message):
        TreeTokTokenizer(lossless, **options)


def test_the_example_trains_and_writes(directory, tmp_path, capsys):
    """`examples/pretrain_gpt2.py` at toy size."""
    pytorch()
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    try:
        from pretrain_gpt2 import main
    finally:
        sys.path.pop(0)
    arguments = [
        "--layers",
        "1",
        "--width",
        "32",
        "--context",
        "64",
        "--steps",
        "4",
        "--batch",
        "2",
        "--new-tokens",
        "8",
    ]
    main([*map(str, SAMPLE_FILES[:2]), "--tokenizer", str(directory), "-o", str(tmp_path / "model"), *arguments])
    assert "Once upon a time" in capsys.readouterr().out
    again = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert again("windsurfing")["input_ids"] == TreeTokenizer.load(directory).encode("windsurfing")
