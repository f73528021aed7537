import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer

from treetok import TreetokError
from treetok.text import PROFILES, check_encodable, profile_named
from treetok.text.uncased import NORMAL_CHARACTERS, normalise_character
from treetok.text.word_limit import LONGEST_WORD

lossless, uncased = profile_named("lossless"), profile_named("uncased")
encodable = st.text(st.characters(exclude_categories=["Cs"]))
# Text in which the splitting rules often interact.
crowded = st.text(st.sampled_from("abTs '’’stvel1٣._-\n\r\t\u00a0\u0301\u3000é東İ'"), max_size=30)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Windsurfers tricycled.", ["Windsurfers", " tricycled", "."]),
        ("I'll say it's John's, you'd", ["I", "'ll", " say", " it", "'s", " John", "'s", ",", " you", "'d"]),
        ("DON'T don’t", ["DON", "'T", " don", "’t"]),
        ("'tis the '90s", ["'", "tis", " the", " '", "90", "s"]),
        ("o'clock sailors' ", ["o", "'", "clock", " sailors", "'", " "]),
        ("in 1984 (12345)", ["in", " ", "198", "4", " (", "123", "45", ")"]),
        ("a  b\n\n c\t", ["a", " ", " b", "\n\n", " c", "\t"]),
        ("x = y**2;", ["x", " =", " y", "**", "2", ";"]),
        ("हिन्दी भाषा", ["हिन्दी", " भाषा"]),
        ("\u0301a e\u0301", ["\u0301a", " e\u0301"]),
        ("", []),
    ],
)
def test_lossless_words(text, words):
    assert lossless.split(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Fielder's chain-gang", ["the", "fielder", "'s", "chain", "-", "gang"]),
        ("I'll we've don't o'clock", ["i", "'ll", "we", "'ve", "don", "'t", "o", "'", "clock"]),
        ("Ça déjà-vu ÅNGSTRÖM", ["ca", "deja", "-", "vu", "angstrom"]),
        ("東京tower", ["東", "京", "tower"]),
        ("zero\u200bwidth\x00nul\ttab", ["zerowidthnul", "tab"]),
        ("wait... what?!", ["wait", "...", "what", "?!"]),
        ("snake_case 3rd", ["snake_case", "3rd"]),
        ("", []),
    ],
)
def test_uncased_words(text, words):
    assert uncased.split(text) == words


@given(encodable | crowded)
def test_lossless_words_join_to_the_text(text):
    assert "".join(lossless.split(text)) == text


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(text=encodable | crowded)
@example("a \x1c b\x85c \u2028 d")
def test_no_word_crosses_chunks(profile, text):
    words = [word for chunk in profile.chunks(text) for word in profile.split(chunk)]
    assert words == profile.split(text)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(text=encodable | crowded)
def test_offsets_have_one_entry_per_character(profile, text):
    words, places = profile.split_with_offsets(text)
    assert words == profile.split(text)
    assert [len(place) for place in places] == [len(word) for word in words]
    flat = [position for place in places for position in place]
    assert flat == sorted(flat)
    for word, place in zip(words, places, strict=True):
        for character, (start, end) in zip(word, place, strict=True):
            source = text[start:end]
            assert character in (source if profile is lossless else normalise_character(source))


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@pytest.mark.parametrize("text", ["a" * 1000, "." * 1000, " " * 1000, "9" * 1000, "ä" * 1000])
def test_words_have_bounded_length(profile, text):
    words = profile.split(text)
    assert all(1 <= len(word) <= LONGEST_WORD for word in words)
    if profile is lossless or not text.isspace():
        assert len("".join(words)) == len(text)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10))
@example(" İI")
@example("ΣΑΣ")
@example(" ")
def test_letters_are_lower_case_one_per_character(word):
    letters = lossless.letters(word)
    bare = word[1:] if len(word) > 1 and word[0] == " " else word
    assert len(letters) == len(bare)
    for small, big in zip(letters, bare, strict=True):
        assert small == big.lower()[0] or (small, big) == ("ς", "Σ")


def test_normalisation_is_that_of_bert():
    """Character by character, over all of Unicode. Two kinds of differences remain: characters on which the two
    Unicode databases disagree, and a block of Chinese characters that the other library misses."""
    bert = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    different = []
    for code_point in range(sys.maxunicode + 1):
        character = chr(code_point)
        if 0xD800 <= code_point < 0xE000 or 0x2B820 <= code_point < 0x2B920:
            continue
        if bert.normalize_str(f"a{character}b") != f"a{normalise_character(character)}b":
            different.append(character)
    known = sum(unicodedata.category(character) not in ("Mn", "Cf", "Mc", "Cn", "Lu") for character in different)
    assert known == 0
    assert len(different) < 1000


@given(encodable)
def test_normalisation_of_texts_is_that_of_bert(text):
    bert = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    same = "".join(c for c in text if bert.normalize_str(f"a{c}b") == f"a{normalise_character(c)}b")
    ours = same.translate(NORMAL_CHARACTERS)
    theirs = bert.normalize_str(same)
    # Canonical order of the few combining marks that are not stripped does not matter for words of letters.
    assert sorted(ours) == sorted(theirs)
    if not any(unicodedata.combining(c) for c in ours):
        assert ours == theirs


def test_errors_give_the_position_of_lone_surrogates():
    with pytest.raises(TreetokError, match=r"U\+D800.*character 2"):
        check_encodable("ab\ud800")


def test_unknown_profile():
    with pytest.raises(TreetokError, match="unknown profile 'cased': choose one of 'lossless', 'uncased'"):
        profile_named("cased")
