import re
import sys
import unicodedata

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer

from treetok import TreetokError
from treetok.text import VERSIONS, check_encodable, profile_named
from treetok.text.lossless import LONGEST_UNSPACED, NEEDS_ANY_TEXT, UNSPACED
from treetok.text.uncased import NORMAL_CHARACTERS, normalise_character
from treetok.text.word_limit import LONGEST_WORD

lossless, uncased = profile_named("lossless"), profile_named("uncased")
each_version = pytest.mark.parametrize("profile", VERSIONS.values(), ids=map(str, VERSIONS))
encodable = st.text(st.characters(exclude_categories=["Cs"]))
# Text in which the splitting rules often interact.
crowded = st.text(st.sampled_from("abTs '’’stvel1٣._-\n\r\t\u00a0\u0301\u3000é東İ'กิन्दी\u200c\u200d"), max_size=30)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Windsurfers tricycled.", ["Windsurfers", " tricycled", "."]),
        ("I'll say it's John's, you'd", ["I", "'ll", " say", " it", "'s", " John", "'s", ",", " you", "'d"]),
        ("DON'T don’t", ["DON", "'T", " don", "’t"]),
        ("'tis the '90s", ["'", "tis", " the", " '", "90", "s"]),
        ("o'clock sailors' ", ["o", "'", "clock", " sailors", "'", " "]),
        ("in 1984 (12345)", ["in", " ", "1", "984", " (", "12", "345", ")"]),
        ("999 1,000,000 v1.25", ["999", " ", "1", ",", "000", ",", "000", " v", "1", ".", "25"]),
        ("١٩٨٤ ½", ["١", "٩٨٤", " ", "½"]),
        ("camelCase HTMLParser iPhone", ["camel", "Case", " HTML", "Parser", " i", "Phone"]),
        ("URLs, DVDs' NASA", ["URLs", ",", " DVDs", "'", " NASA"]),
        (
            "readJSONFile2 snake_case __init__",
            [
                "read",
                "JSON",
                "File",
                "2",
                " snake",
                "_",
                "case",
                " __",
                "init",
                "__",
            ],
        ),
        ("E\u0301COLE éCole Éa", ["E\u0301COLE", " é", "Cole", " Éa"]),
        ("👨\u200d👩\u200d👧 ❤\ufe0f😂😂🇩🇪🇫🇷", ["👨\u200d👩\u200d👧", " ❤\ufe0f", "😂", "😂", "🇩🇪", "🇫🇷"]),
        ("👍🏽! 1\ufe0f\u20e3 #1 ©→", ["👍🏽", "!", " ", "1\ufe0f\u20e3", " #", "1", " ©→"]),
        ("!\u0301x 3\u0301", ["!\u0301", "x", " ", "3", "\u0301"]),
        ("https://x.org/a?b=1", ["https", "://", "x", ".", "org", "/", "a", "?", "b", "=", "1"]),
        ("a  b\n\n c\t", ["a", " ", " b", "\n\n", " c", "\t"]),
        ("x = y**2;", ["x", " =", " y", "**", "2", ";"]),
        ("हिन्दी भाषा", ["हिन्दी", " भाषा"]),
        ("می\u200cخواهم ශ්\u200dරී क्\u200dष", ["می\u200cخواهم", " ශ්\u200dරී", " क्\u200dष"]),
        (
            "a\u200c \u200cb c\u200d1 d\u200c\u200ce",
            ["a", "\u200c", " \u200c", "b", " c", "\u200d", "1", " d", "\u200c\u200c", "e"],
        ),
        ("aB\u200dCd x\u200d👩", ["a", "B\u200dCd", " x", "\u200d", "👩"]),
        ("東京tower コーヒー、食べる", ["東京", "tower", " コーヒー", "、", "食べる"]),
        ("서울 사람들ʼs", ["서울", " 사람들ʼs"]),
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
        ("It’s we’ve ’twas o’clock", ["it", "’s", "we", "’ve", "’", "twas", "o", "’", "clock"]),
        # Combining marks (category Mn) are stripped, as BERT does; spacing ones (Mc) stay.
        ("हिन्दी भाषा में", ["हिनदी", "भाषा", "म"]),
        ("தமிழ் மொழி", ["தமிழ", "ம\u0bc6\u0bbeழி"]),
        ("বাংলা ভাষা।", ["বাংলা", "ভাষা", "।"]),
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
    for version in lossless.versions:
        assert "".join(profile_named("lossless", version).split(text)) == text


@pytest.mark.parametrize("apostrophe", "'’")
@pytest.mark.parametrize("ending", ["s", "t", "re", "ve", "m", "ll", "d"])
def test_both_profiles_know_the_same_contractions(apostrophe, ending):
    text = f"word{apostrophe}{ending} word{apostrophe}{ending}x"
    assert uncased.split(text) == ["word", apostrophe + ending, "word", apostrophe, f"{ending}x"]
    assert [word.strip() for word in lossless.split(text)] == uncased.split(text)


def test_spacing_marks_are_part_of_words():
    marks = [chr(n) for n in range(sys.maxunicode + 1) if unicodedata.category(chr(n)) == "Mc"]
    assert len(marks) >= 445
    for mark in marks:
        normal = normalise_character(mark)
        assert uncased.split(f"a{mark}b") == [f"a{normal}b"]
        assert lossless.split(f"a{mark}b") == [f"a{mark}b"]


@pytest.mark.parametrize("letter", "東あア가กກកကー々")
def test_runs_without_spaces_have_a_limit(letter):
    words = lossless.split(letter * 100)
    limit = LONGEST_WORD if letter == "가" else LONGEST_UNSPACED
    assert set(map(len, words[:-1])) == {limit}
    assert lossless.split(" " + letter * 5 + "x") == (
        [f" {letter * 5}x"] if letter == "가" else [" " + letter * 5, "x"]
    )


def test_runs_without_spaces_are_not_cut_before_a_mark():
    assert lossless.split("กิ" * (LONGEST_UNSPACED + 3)) == ["กิ" * LONGEST_UNSPACED, "กิ" * 3]


def test_the_blocks_hold_all_letters_of_scripts_without_spaces():
    letter = regex.compile(UNSPACED, regex.VERSION1)
    letters = [chr(n) for n in range(sys.maxunicode + 1) if letter.match(chr(n))]
    assert len(letters) > 90_000
    assert all(map(NEEDS_ANY_TEXT.match, letters))


def cut_at_humps(word):
    """Before an upper-case letter that follows a lower-case one, and before the last of several upper-case letters
    if two lower-case ones follow."""
    parts = []
    for at, letter in enumerate(word):
        is_upper, follows_upper = letter.isupper(), at > 0 and word[at - 1].isupper()
        two_more = word[at + 1 : at + 3]
        is_last_of_several = follows_upper and len(two_more) == 2 and two_more.islower()
        starts = is_upper and at > 0 and word[at - 1] != " " and (not follows_upper or is_last_of_several)
        if starts or not parts:
            parts.append("")
        parts[-1] += letter
    return parts


def grouped(digits):
    return [*grouped(digits[:-3]), digits[-3:]] if digits else []


# Letters with case, alone and in front of each other, and digits.
humped = st.text(st.sampled_from("aabcAABCéÉ12345 _."), max_size=40)


@given(humped)
def test_humps_and_digits(text):
    """The first version, with numbers put together again and cut from the right, and words cut at their humps."""
    expected = []
    for word in profile_named("lossless", 1).split(text):
        if word.isdigit() and expected and expected[-1].isdigit():
            expected[-1] += word
        else:
            expected += cut_at_humps(word) if word.strip().isalpha() else [word]
    expected = [part for word in expected for part in (grouped(word) if word.isdigit() else [word])]
    assert lossless.split(text) == expected


# As published with tiktoken. It takes a contraction as part of its word, a symbol in front of letters as part of
# theirs, and line breaks as part of the symbols before them.
GPT_4O = regex.compile(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA_3 = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


@given(st.text(st.sampled_from("abcABCéÉßбБ \n"), max_size=40))
def test_letters_and_spaces_are_split_as_by_gpt_4o(text):
    # It does not cut an acronym off the word that follows it.
    text = regex.sub(r"\p{Lu}+(?=\p{Lu}[\p{L}--\p{Lu}]{2})", "", text, flags=regex.VERSION1)
    assert lossless.split(text) == GPT_4O.findall(text)


@given(st.text(st.sampled_from("abcéßאб 12,.;=\n\t"), max_size=40))
def test_lower_case_text_is_split_as_by_llama_3(text):
    # Not where it joins a symbol or a tab with the letters behind it, or symbols with the line break behind them.
    text = regex.sub(r"[^\p{L}\p{N}\ \n]+(?=[\p{L}\n])|\p{N}(?=\p{N})", "", text)
    assert lossless.split(text) == LLAMA_3.findall(text)


@given(crowded)
def test_joiners_belong_to_the_word_between_letters_alone(text):
    """As if a joiner between two letters were a mark: the same cuts with one in its place."""
    joined = regex.sub(r"(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])", "\u0301", text)
    words, places = lossless.split(joined), iter(text)
    assert lossless.split(text) == ["".join(next(places) for _ in word) for word in words]


@given(encodable | crowded)
def test_versions_differ_only_where_they_should(text):
    spaced = NEEDS_ANY_TEXT.sub("", text)
    # Nothing to cut or to keep together: no capitals, long numbers, pictures or marks.
    plain = regex.sub(r"[\p{Lu}\p{Lt}\p{M}\p{ExtPict}\p{RI}]|\p{N}(?=\p{N})", "", spaced)
    assert lossless.split(plain) == profile_named("lossless", 1).split(plain)
    # Without characters that Unicode got after this version of Python.
    known = "".join(c for c in text if unicodedata.category(c) not in ("Mc", "Me", "Cn") and c != "’")
    known = re.sub(r"\s", " ", known)
    assert uncased.split(known) == profile_named("uncased", 1).split(known)


def test_the_first_version_splits_as_it_always_did():
    first, text = profile_named("uncased", 1), "It’s हिन्दी"
    assert first.split(text) == ["it", "’", "s", "ह", "ि", "नद", "ी"]
    assert profile_named("lossless", 1).split("東" * 50 + "x") == ["東" * 50 + "x"]


def test_unknown_version():
    for version in (0, 3, True, "2"):
        with pytest.raises(
            TreetokError, match=f"unknown version {version!r} of the profile 'uncased': choose one of 1, 2"
        ):
            profile_named("uncased", version)


@each_version
@given(text=encodable | crowded)
@example("a \x1c b\x85c \u2028 d")
def test_no_word_crosses_chunks(profile, text):
    words = [word for chunk in profile.chunks(text) for word in profile.split(chunk)]
    assert words == profile.split(text)


@each_version
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
            assert character in (source if profile.name == "lossless" else normalise_character(source))


@each_version
@pytest.mark.parametrize("text", ["a" * 1000, "." * 1000, " " * 1000, "9" * 1000, "ä" * 1000])
def test_words_have_bounded_length(profile, text):
    words = profile.split(text)
    assert all(1 <= len(word) <= LONGEST_WORD for word in words)
    if profile.name == "lossless" or not text.isspace():
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
