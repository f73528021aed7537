"""Special tokens that are added after training, and what they are for."""

import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_cli import last_line
from treetok import TreeTokenizer, TreetokError
from treetok.cli import main
from treetok.reference_encoder import ReferenceEncoder
from treetok.special_token_search import split_at_specials
from treetok.special_tokens import LONGEST_SPECIAL_TOKEN, MOST_SPECIAL_TOKENS, ROLES
from treetok.string_search import StringSearch

GPT2 = dict.fromkeys(("bos", "eos", "unk"), "<|endoftext|>")
BERT = {"unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]", "cls": "[CLS]", "sep": "[SEP]"}


def train(size=300, **options):
    return TreeTokenizer.train({" walk": 9, " walks": 5, "walked": 3}, size, "counts", progress=False, **options)


def test_new_tokenizers_have_the_roles_of_their_profile(lossless, uncased):
    assert lossless.roles == GPT2 | {"pad": "<|pad|>", "mask": "<|mask|>"}
    assert uncased.roles == BERT
    for tokenizer in (lossless, uncased):
        assert set(tokenizer.roles.values()) == set(tokenizer.special_tokens)


def test_shipped_tokenizers_have_roles():
    assert TreeTokenizer.load("en-uncased").roles == BERT
    for name, size in (("en", 32_000), ("en-large", 64_000)):
        tokenizer = TreeTokenizer.load(name)
        assert tokenizer.roles == GPT2 | {"pad": "<|pad|>", "mask": "<|mask|>"}
        # Behind the vocabulary as it was learned.
        assert tokenizer.special_tokens == {"<|endoftext|>": 0, "<|pad|>": size, "<|mask|>": size + 1}


@pytest.mark.filterwarnings("ignore::treetok.TreetokWarning")
def test_training_with_other_tokens_and_roles():
    tokenizer = train(roles={"eos": "</s>", "mask": None})
    assert tokenizer.special_tokens == {"<|endoftext|>": 0, "<|pad|>": 1, "</s>": 2}
    assert tokenizer.roles == {"bos": "<|endoftext|>", "eos": "</s>", "unk": "<|endoftext|>", "pad": "<|pad|>"}
    tokenizer = train(special_tokens=["<s>", "<|pad|>"], roles={"bos": "<s>", "sep": "<sep>"})
    assert tokenizer.special_tokens == {"<s>": 0, "<|pad|>": 1, "<sep>": 2}
    assert tokenizer.roles == {"bos": "<s>", "pad": "<|pad|>", "sep": "<sep>"}
    assert train(special_tokens=[]).roles == {}
    assert train(profile="uncased", special_tokens=["<s>"]).roles == {"unk": "[UNK]"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": {"end": "<s>"}}, "unknown role 'end': choose one of bos, eos"),
        ({"roles": ["eos"]}, "roles map bos, eos, .* to special tokens"),
        ({"roles": {"eos": "cat"}}, "'cat' cannot be a special token"),
        ({"roles": {"eos": "<join>"}}, "'<join>' cannot be a special token: it is the name of a marker"),
        ({"roles": {"unk": "<unk>"}, "profile": "uncased"}, r"unk must be that"),
    ],
)
def test_bad_roles_are_refused_before_text_is_read(options, message):
    with pytest.raises(TreetokError, match=message):
        TreeTokenizer.train((text for text in [pytest.fail]), 300, "counts", progress=False, **options)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).map("<|{}|>".format)


@pytest.mark.parametrize("profile", ["lossless", "uncased"])
@given(added=st.lists(names, unique=True, max_size=4), text=st.text(st.sampled_from("ab <|>é東")), data=st.data())
def test_added_tokens_work_everywhere(profile, request, added, text, data):
    before = request.getfixturevalue(profile)
    tokenizer = before.with_special_tokens(added)
    new = [name for name in added if name not in before.special_tokens]
    assert tokenizer.vocab_size == before.vocab_size + len(new)
    assert tokenizer.special_tokens == before.special_tokens | {
        name: before.vocab_size + number for number, name in enumerate(new)
    }
    for name, number in tokenizer.special_tokens.items():
        assert (tokenizer.id_to_token(number), tokenizer.token_to_id(name)) == (name, number)
    # Ordinary text has the ids that it had before.
    assert tokenizer.encode(text + "".join(added)) == before.encode(text + "".join(added))
    parts = data.draw(st.lists(st.sampled_from([*added, text, "walking"])))
    ids = tokenizer.encode("".join(parts), allowed_special="all")
    allowed = list(tokenizer.special_tokens.items())
    assert ids == ReferenceEncoder(tokenizer.state).encode("".join(parts), allowed)
    if profile == "lossless":
        assert tokenizer.decode(ids) == "".join(parts)
    kept = [number for number in ids if number not in tokenizer.special_tokens.values()]
    assert tokenizer.decode(ids, skip_special_tokens=True) == tokenizer.decode(kept)


def test_they_are_saved_and_pickled(tmp_path, lossless):
    tokenizer = lossless.with_special_tokens(["<|user|>"], eos="<|end|>", unk=None)
    tokenizer.save(tmp_path)
    for again in (TreeTokenizer.load(tmp_path), pickle.loads(pickle.dumps(tokenizer))):
        assert again.special_tokens == tokenizer.special_tokens
        assert again.roles == {"bos": "<|endoftext|>", "eos": "<|end|>", "pad": "<|pad|>", "mask": "<|mask|>"}
        assert again.encode("a<|end|>", allowed_special="all")[-1] == 1501
    # The one it was made from is what it was.
    assert lossless.vocab_size == 1500 and lossless.roles["eos"] == "<|endoftext|>"


def test_files_without_roles_get_those_of_their_profile(tmp_path, lossless):
    lossless.save(tmp_path)
    head = json.loads((tmp_path / "treetok.json").read_text(encoding="utf-8"))
    del head["roles"]
    (tmp_path / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
    assert TreeTokenizer.load(tmp_path).roles == lossless.roles


@pytest.mark.parametrize(
    ("tokens", "roles", "message"),
    [
        ([" the"], {}, "' the' is both a special and an ordinary token"),
        (["a"], {}, "'a' cannot be a special token"),
        (["<cap>"], {}, "'<cap>' is a marker"),
        ([""], {}, "a special token must be a string that is not empty"),
        (["<a>", "<a>"], {}, "'<a>' is given twice"),
        ("<a>", {}, "special tokens are a list of strings, not '<a>'"),
        ([], {"pad": 5}, "a special token must be a string"),
        ([], {"padding": "<a>"}, "unknown role 'padding'"),
        (["\ud800"], {}, "lone surrogate"),
    ],
)
def test_bad_tokens_and_roles(lossless, tokens, roles, message):
    with pytest.raises(TreetokError, match=message):
        lossless.with_special_tokens(tokens, **roles)


def test_the_command(tmp_path, lossless, capsys):
    lossless.save(tmp_path / "old")
    command = ["special-tokens", str(tmp_path / "old"), "-o", str(tmp_path / "new")]
    assert main([*command, "--add", "<|user|>", "--eos", "<|end|>"]) == 0
    assert last_line(capsys.readouterr().out) == f"{tmp_path / 'new'}: 1502 tokens, 5 of them special"
    assert TreeTokenizer.load(tmp_path / "new").roles == lossless.roles | {"eos": "<|end|>"}
    assert main(command) == 1
    assert "already has a tokenizer: pass --force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert TreeTokenizer.load(tmp_path / "new").roles == lossless.roles
    assert main(["info", str(tmp_path / "new")]) == 0
    assert "pad <|pad|>" in capsys.readouterr().out


def test_roles_of_the_training_command(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("low lower lowest", encoding="utf-8")
    command = ["train", str(text), "-o", str(tmp_path / "new"), "--trees", "counts", "--vocab-size", "268"]
    assert main([*command, "--quiet", "--pad", "<p>", "--eos", "</s>"]) == 0
    capsys.readouterr()
    tokenizer = TreeTokenizer.load(tmp_path / "new")
    assert tokenizer.roles["pad"] == "<p>" and tokenizer.roles["eos"] == "</s>"
    assert set(tokenizer.roles) <= set(ROLES)


# ---- many and long ones


def split_plainly(text, specials):
    """At every place the longest token that begins there."""
    parts, ordinary, at = [], "", 0
    while at < len(text):
        name = max((name for name in specials if text.startswith(name, at)), key=len, default="")
        if name and ordinary:
            parts.append((ordinary, None))
        ordinary = "" if name else ordinary + text[at]
        parts += [(name, specials[name])] if name else []
        at += len(name) or 1
    return [*parts, (ordinary, None)] if ordinary else parts


@given(
    st.dictionaries(st.text("ab<", min_size=1, max_size=5), st.integers(0, 9), max_size=8),
    st.text("ab<", min_size=1, max_size=30),
)
def test_special_tokens_are_found_as_by_trying_all_of_them_everywhere(specials, text):
    assert list(split_at_specials(text, list(specials.items()))) == split_plainly(text, specials)


def least_seconds(work, *arguments):
    def seconds():
        start = time.process_time()
        work(*arguments)
        return time.process_time() - start

    return min(seconds() for _ in range(3))


def names_of(count):
    return [f"<|{number}|>" for number in range(count)]


@pytest.mark.parametrize("native", ["1", "0"])
def test_time_is_linear_in_the_number_of_special_tokens(lossless, tmp_path, monkeypatch, native):
    monkeypatch.setenv("TREETOK_NATIVE", native)
    for count in (2_000, 16_000):
        lossless.with_special_tokens(names_of(count)).save(tmp_path / str(count))

    def add(count):
        lossless.with_special_tokens(names_of(count))

    def load(count):
        TreeTokenizer.load(tmp_path / str(count))

    # 64 times as long if it were quadratic.
    for work in (add, load):
        assert least_seconds(work, 16_000) < 20 * least_seconds(work, 2_000)


def test_searching_takes_no_longer_for_more_and_longer_special_tokens():
    few, many = StringSearch(names_of(20)), StringSearch(names_of(20_000))
    short, long = (StringSearch(["a" * length + "b" for length in range(1, most)]) for most in (3, 300))
    for text, one, other in (("<" * 30_000, few, many), ("<|19" * 8_000, few, many), ("a" * 30_000, short, long)):
        assert least_seconds(lambda s, t: list(s.longest_at_each_start(t)), other, text) < 5 * least_seconds(
            lambda s, t: list(s.longest_at_each_start(t)), one, text
        )


def test_there_are_limits(lossless, tmp_path):
    for names, message in (
        (names_of(MOST_SPECIAL_TOKENS), "at most 65536 special tokens"),
        (["<" + "x" * LONGEST_SPECIAL_TOKEN], "at most 1000 characters, not 1001 as '<xxxx"),
    ):
        with pytest.raises(TreetokError, match=message):
            lossless.with_special_tokens(names)
        lossless.save(tmp_path)
        head = json.loads((tmp_path / "treetok.json").read_text(encoding="utf-8"))
        head["special_tokens"] |= {name: 1500 + number for number, name in enumerate(names)}
        (tmp_path / "treetok.json").write_text(json.dumps(head), encoding="utf-8")
        with pytest.raises(TreetokError, match=message):
            TreeTokenizer.load(tmp_path)
    with pytest.raises(TreetokError, match="at most 65536 special tokens"):
        train(special_tokens=names_of(MOST_SPECIAL_TOKENS + 1))
    assert lossless.with_special_tokens(["<" + "x" * (LONGEST_SPECIAL_TOKEN - 1)]).vocab_size == 1501
