"""`tokenizer_config.json` from strangers: no other directory is loaded, and what is wrong in it is one line."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from treetok import TreetokError
from treetok.hf import TreeTokTokenizer

LOADERS = pytest.mark.parametrize("loader", [AutoTokenizer, TreeTokTokenizer])


@pytest.fixture
def saved(lossless, tmp_path) -> Path:
    directory = tmp_path / "saved"
    tok = TreeTokTokenizer(lossless, chat_template="{{ messages }}")
    tok.add_tokens(["windsurf"])
    tok.save_pretrained(directory)
    return directory


def change(directory: Path, **changes) -> None:
    path = directory / "tokenizer_config.json"
    if "chat_template" in changes:
        # It would come first.
        (directory / "chat_template.jinja").unlink()
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


# ---- other directories


@LOADERS
@pytest.mark.parametrize("name", ["tokenizer", "init_inputs", "fast_tokenizer_files"])
def test_no_other_directory_is_loaded(saved, uncased, tmp_path, loader, name):
    uncased.save(tmp_path / "other")
    (tmp_path / "tokenizer.9.json").write_text(json.dumps({"added_tokens": [{"id": 9, "content": "the"}]}))
    for other in (str(tmp_path / "other"), "../other", "en-uncased"):
        value = {"tokenizer": other, "init_inputs": [other], "fast_tokenizer_files": ["../tokenizer.9.json"]}[name]
        change(saved, **{name: value})
        with pytest.raises(
            TreetokError, match=f"must not have '{name}': all of a tokenizer is in its own directory"
        ):
            loader.from_pretrained(saved)


@LOADERS
def test_paths_in_the_options_are_not_followed(saved, uncased, lossless, tmp_path, loader):
    uncased.save(tmp_path / "other")
    other = str(tmp_path / "other")
    files = ["treetok_file", "vocab_file", "ngrams_file", "parser_file", "lexicon_file", "tokenizer_file"]
    change(saved, name_or_path=other, **dict.fromkeys(files, f"{other}/treetok.json"))
    assert loader.from_pretrained(saved).treetok == lossless


def test_tokens_in_other_files_are_not_read(saved, lossless):
    """Older releases of transformers wrote such files; TreeTok never did."""
    (saved / "tokenizer_config.json").write_text('{"tokenizer_class": "TreeTokTokenizer"}')
    (saved / "added_tokens.json").write_text('{"the": 5, "": 6}')
    (saved / "special_tokens_map.json").write_text('{"eos_token": "the", "tokenizer": "en"}')
    (saved / "tokenizer.json").write_text('{"added_tokens": [{"id": 7, "content": "the"}]}')
    assert TreeTokTokenizer.from_pretrained(saved).get_vocab() == TreeTokTokenizer(lossless).get_vocab()


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_do_not_lead_out(saved, lossless, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (saved / "chat_template.jinja").unlink()
    (saved / "chat_template.jinja").symlink_to(tmp_path / "secret")
    with pytest.raises(TreetokError, match=r"chat_template.jinja is damaged: it is a link to a file outside"):
        TreeTokTokenizer.from_pretrained(saved)
    (saved / "chat_template.jinja").unlink()
    templates = saved / "additional_chat_templates"
    templates.symlink_to(tmp_path)
    (tmp_path / "x.jinja").write_text("secret")
    with pytest.raises(TreetokError, match="is a link to a file outside of its directory"):
        TreeTokTokenizer.from_pretrained(saved)
    templates.unlink()
    # A link to a directory is none in it.
    (tmp_path / "link").symlink_to(saved)
    assert TreeTokTokenizer.from_pretrained(tmp_path / "link").treetok == lossless


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_the_cache_of_the_hub_is_made_of_links(saved, lossless, tmp_path):
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "0", tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(saved.iterdir()):
        path.rename(blobs / str(number))
        (snapshot / path.name).symlink_to(Path("..", "..", "blobs", str(number)))
    assert TreeTokTokenizer.from_pretrained(snapshot).treetok == lossless


# ---- what is wrong is one line


@pytest.mark.parametrize(
    "content, message",
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        (json.dumps({"a": json.loads("[" * 70 + "]" * 70)}), "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "is damaged"),
        ('{"a": 1', "is damaged"),
        ("5", "must be a JSON object"),
        ('{"a": "\\ud800"}', "lone surrogate"),
        ('{"\\ud800": 1}', "lone surrogate"),
        ('{"added_tokens_decoder": {"5": {"content": "a"}, "5": {"content": "b"}}}', "the key '5' appears twice"),
    ],
)
def test_files_that_are_no_options(saved, content, message):
    (saved / "tokenizer_config.json").write_text(content)
    with pytest.raises(TreetokError, match=message) as error:
        TreeTokTokenizer.from_pretrained(saved)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


def test_files_that_are_too_large(saved):
    with (saved / "tokenizer_config.json").open("a") as file:
        file.truncate(1 << 25)
    with pytest.raises(TreetokError, match="larger than 16777216 bytes"):
        TreeTokTokenizer.from_pretrained(saved)


@LOADERS
@pytest.mark.parametrize(
    "number, token, message",
    [
        ("next", {"content": ""}, "must be a token that is not empty, not"),
        ("next", {"content": 5}, "must be an object with a content"),
        ("next", {}, "must be an object with a content"),
        ("next", "x", "must be an object with a content"),
        ("next", None, "must be an object with a content"),
        ("next", {"content": "x", "lstrip": 1}, "has 'lstrip': 1; expected are"),
        ("next", {"content": "x", "id": 5}, "has 'id': 5; expected are"),
        ("next", {"content": "windsurf"}, "has the added token 'windsurf' twice"),
        ("next", {"content": "<|endoftext|>"}, "has the added token '<|endoftext|>' twice"),
        ("next", {"content": "<join>"}, "adds '<join>', which is token"),
        ("0", {"content": "the"}, "it has 'the' as token 0, which is"),
        ("-1", {"content": "x"}, "'-1', which is no id of a token"),
        ("00", {"content": "x"}, "'00', which is no id of a token"),
        ("1_0", {"content": "x"}, "which is no id of a token"),
        ("٣", {"content": "x"}, "which is no id of a token"),
        ("9" * 5000, {"content": "x"}, "which is no id of a token"),
        ("1000000", {"content": "<x>"}, "the ids of its new tokens must be"),
    ],
)
def test_added_tokens_that_cannot_be(saved, loader, number, token, message):
    tokens = json.loads((saved / "tokenizer_config.json").read_text(encoding="utf-8"))["added_tokens_decoder"]
    following = str(max(map(int, tokens)) + 1)
    change(saved, added_tokens_decoder=tokens | {following if number == "next" else number: token})
    with pytest.raises(TreetokError, match=message) as error:
        loader.from_pretrained(saved)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


@pytest.mark.parametrize(
    "options, message",
    [
        ({"added_tokens_decoder": []}, "added_tokens_decoder must map ids to tokens"),
        ({"extra_special_tokens": [""]}, r"extra_special_tokens\[0\] must be a token that is not empty"),
        ({"extra_special_tokens": 5}, "extra_special_tokens must be a list of tokens, not 5"),
        ({"eos_token": ""}, "eos_token must be a token that is not empty"),
        ({"pad_token": [1]}, "pad_token must be a token"),
        ({"model_specific_special_tokens": {"padding_side": "x"}}, "must be like image_token, not 'padding_side'"),
        ({"extra_special_tokens": {"_encoder": "x"}}, "must be like image_token, not '_encoder'"),
        ({"_encoder": 1}, "'_encoder' is not an option of tokenizers"),
        ({"treetok": 1}, "'treetok' is not an option of tokenizers"),
        ({"encode": 1}, "or an option it is loaded with, is not right"),
        ({"model_max_length": "long"}, "model_max_length must be a number, not 'long'"),
        ({"model_input_names": 5}, "model_input_names must be a list of strings"),
        ({"chat_template": 5}, "chat_template must be a template or named templates"),
        ({"chat_template": [{"name": "a"}]}, "chat_template must be a template or named templates"),
        ({"chat_control_tokens": [[]]}, "chat_control_tokens must be a list of strings"),
        ({"split_special_tokens": "no"}, "split_special_tokens must be true or false"),
        (
            {"extra_special_tokens": [f"<{n}>" for n in range(1001)]},
            "has more than 1000 tokens that were not added",
        ),
        ({"extra_special_tokens": {f"a{n}_token": f"<{n}>" for n in range(1001)}}, "has more than 1000 tokens"),
        ({f"a{n}_token": f"<{n}>" for n in range(1001)}, "has more than 1000 special tokens"),
        ({"added_tokens_decoder": {"5": {"content": "a" * 1_000_001}}}, "have more than 1000000 characters"),
        ({"padding_side": "top"}, "is not right: Padding side should be"),
    ],
)
def test_options_that_cannot_be(saved, options, message):
    change(saved, **options)
    with pytest.raises(TreetokError, match=message) as error:
        TreeTokTokenizer.from_pretrained(saved)
    assert "\n" not in str(error.value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 2**63, 1e300, "", "x", "the", "<|x|>", "_encoder", "en-uncased", "../x"]),
    lambda values: (
        st.lists(values, max_size=2)
        | st.dictionaries(st.sampled_from(["content", "__type", "image_token", "5", "name"]), values, max_size=2)
    ),
    max_leaves=3,
)


@given(data=st.data())
@settings(max_examples=20)
def test_any_options_load_or_are_refused(lossless, saved, data):
    path = saved / "tokenizer_config.json"
    original = path.read_text(encoding="utf-8")
    names = [name for name in dir(TreeTokTokenizer(lossless)) if name not in ("chat_template", "__doc__")]
    options = data.draw(
        st.dictionaries(st.sampled_from([*names, *json.loads(original)]), VALUES, min_size=1, max_size=2)
    )
    try:
        change(saved, **options)
        tok = TreeTokTokenizer.from_pretrained(saved)
        assert tok.treetok == lossless
        ids = tok("the windsurfers<|endoftext|>")["input_ids"]
        tok.decode(ids, skip_special_tokens=True)
        tok.save_pretrained(saved.parent / "again")
        assert (
            TreeTokTokenizer.from_pretrained(saved.parent / "again")("the windsurfers<|endoftext|>")["input_ids"]
            == ids
        )
    except TreetokError as error:
        assert "\n" not in str(error)
    finally:
        path.write_text(original, encoding="utf-8")
