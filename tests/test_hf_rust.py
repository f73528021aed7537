"""The adapter for transformers beside tokenizers in Rust, which are given the same tokens as words."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, processors
from transformers import PreTrainedTokenizerFast

from treetok import TreetokError
from treetok.hf import TreeTokTokenizer
from treetok.hf.added_tokens import AddedTokens

TEXTS = st.lists(st.sampled_from(["the", "Windsurfers", "née", "x1,", "\n", "東", "unhappily"]), max_size=9).map(
    " ".join
)


def rust_twin(tok: TreeTokTokenizer, **options) -> PreTrainedTokenizerFast:
    """A tokenizer in Rust with the same vocabulary and the same special tokens around texts."""
    rust = Tokenizer(models.WordLevel(tok.get_vocab()))
    if tok.special_tokens_pattern == "cls_sep":
        rust.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", tok.cls_token_id), ("[SEP]", tok.sep_token_id)],
        )
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=rust, pad_token=tok.pad_token, model_input_names=names, **options
    )


@given(data=st.data())
@pytest.mark.parametrize("name", ["lossless", "uncased"])
def test_batches_are_laid_out_as_in_rust(data, name, request):
    tok = adapter(request, name)
    sides = {
        side: data.draw(st.sampled_from(["left", "right"]), side) for side in ("padding_side", "truncation_side")
    }
    tok.truncation_side = sides["truncation_side"]
    truncation = data.draw(st.sampled_from([False, "longest_first", "only_first", "only_second"]))
    options = {
        "truncation": truncation,
        "max_length": data.draw(st.integers(4, 20), "max_length") if truncation else None,
        "padding": data.draw(st.sampled_from([False, True, "max_length"]))
        if truncation
        else data.draw(st.booleans()),
        "padding_side": sides["padding_side"],
        "pad_to_multiple_of": data.draw(st.sampled_from([None, 4])),
        "return_overflowing_tokens": data.draw(st.booleans(), "overflow"),
        "add_special_tokens": data.draw(st.booleans(), "specials"),
        "return_special_tokens_mask": True,
        "return_token_type_ids": True,
        "return_length": True,
    }
    if options["return_overflowing_tokens"] and truncation:
        # Rust wants it to be less than what is left beside special tokens, even if these are not added.
        options["stride"] = data.draw(st.integers(0, min(2, max(0, options["max_length"] - 4))), "stride")
    texts = [data.draw(st.lists(TEXTS, min_size=1, max_size=3), "texts")]
    if data.draw(st.booleans(), "pairs"):
        # In Rust, a pair whose second text is empty is no pair, unless it is in a batch.
        texts.append([data.draw(TEXTS.filter(str.strip)) for _ in texts[0]])
    if not data.draw(st.booleans(), "batch"):
        texts = [of_all[0] for of_all in texts]
    as_tokens = [
        [tok.tokenize(text) for text in of_all] if isinstance(of_all, list) else tok.tokenize(of_all)
        for of_all in texts
    ]

    try:
        expected = rust_twin(tok, truncation_side=sides["truncation_side"])(
            *as_tokens, is_split_into_words=True, **options
        )
    except BaseException as error:
        # A panic is not an Exception.
        assert type(error).__name__ in (
            "PanicException",
            "TypeError",
            "ValueError",
            "Exception",
            "OverflowError",
        ), error
        with pytest.raises((TreetokError, ValueError)):
            tok(*texts, **options)
        return
    encoded = tok(*texts, return_offsets_mapping=True, **options)
    offsets = encoded.pop("offset_mapping")
    assert dict(encoded) == dict(expected)

    rows = offsets if encoded.encodings[0].ids != encoded["input_ids"] else [offsets]
    samples = encoded.get("overflow_to_sample_mapping", range(len(rows)))
    for ours, theirs, of_row, sample in zip(encoded.encodings, expected.encodings, rows, samples, strict=True):
        for attribute in (
            "ids",
            "tokens",
            "type_ids",
            "attention_mask",
            "special_tokens_mask",
            "sequence_ids",
        ):
            assert getattr(ours, attribute) == getattr(theirs, attribute)
        assert ours.offsets == of_row
        # Words of theirs are tokens of ours.
        for token, (sequence, word) in enumerate(zip(theirs.sequence_ids, theirs.word_ids, strict=True)):
            if sequence is None:
                assert (ours.word_ids[token], ours.offsets[token]) == (None, (0, 0))
            else:
                text = texts[sequence] if isinstance(texts[sequence], str) else texts[sequence][sample]
                alone = tok.treetok.encode_with_offsets(text)
                assert (ours.word_ids[token], ours.offsets[token]) == (alone.word_ids[word], alone.offsets[word])


def adapter(request, name) -> TreeTokTokenizer:
    return TreeTokTokenizer(request.getfixturevalue(name))


# Where tokens begin or end with white space, those of Rust may overlap. Marks are parts of words.
ADDED = st.text(alphabet="ab< \n", min_size=1, max_size=4).map(str.strip).filter(bool)


@given(
    st.lists(st.tuples(ADDED, st.booleans(), st.booleans(), st.booleans()), max_size=4),
    st.text(alphabet="ab< \n²\u0301", max_size=12),
)
@example([("b", False, False, False), ("b<", False, False, False)], "b")
def test_added_tokens_are_found_as_in_rust(tokens, text):
    rust = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    rust.add_tokens(
        [
            AddedToken(content, lstrip=lstrip, rstrip=rstrip, single_word=single_word, normalized=False)
            for content, lstrip, rstrip, single_word in {token[0]: token for token in tokens}.values()
        ]
    )
    added = rust.get_added_tokens_decoder()
    encoding = rust.encode(text)
    expected = [
        (start, end, None if number == 0 else number)
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
    ]
    assert AddedTokens(added, ()).split(text) == expected


@given(first=st.text(), second=st.text())
@pytest.mark.parametrize("name", ["lossless", "uncased"])
def test_methods_of_encodings(first, second, name, request):
    """Their definitions, by search over all tokens."""
    encoded = adapter(request, name)(first, second)
    encoding = encoded.encodings[0]
    tokens = list(zip(encoding.sequence_ids, encoding.word_ids, encoding.offsets, strict=True))
    for sequence, text in enumerate([first, second]):
        for char in range(len(text)):
            covering = [token for token, (of, _, (a, b)) in enumerate(tokens) if of == sequence and a <= char < b]
            assert encoded.char_to_token(0, char, sequence) == next(iter(covering), None)
            words = {tokens[token][1] for token in covering}
            assert encoded.char_to_word(0, char, sequence) == next(iter(words), None)
        for word in {word for of, word, _ in tokens if of == sequence}:
            of_word = [token for token, place in enumerate(tokens) if place[:2] == (sequence, word)]
            assert of_word == list(range(*encoded.word_to_tokens(0, word, sequence)))
            assert tuple(encoded.word_to_chars(0, word, sequence)) == (
                tokens[of_word[0]][2][0],
                tokens[of_word[-1]][2][1],
            )
    for token, (sequence, word, offsets) in enumerate(tokens):
        assert encoded.token_to_word(0, token) == word
        assert encoded.token_to_sequence(0, token) == sequence
        assert encoded.token_to_chars(0, token) == (None if sequence is None else offsets)
    assert encoded.word_ids() == [word for _, word, _ in tokens]
    assert list(itertools.chain(encoded.tokens())) == encoding.tokens
