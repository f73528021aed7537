"""Words of Chinese as spans of trees and as tokens: counted position by position, and by eye."""

import itertools
import random
import unicodedata
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("tokenizers")

import chinese  # noqa: E402
from chinese_tokenizers import tokens_by  # noqa: E402
from han_text import (  # noqa: E402
    Cuts,
    GoldSentence,
    equal_parts,
    parts_at_weak_links,
    read_sentences,
    running_stretches,
    strengths_of_pairs,
    stretches,
)
from treetok import TreetokError  # noqa: E402
from treetok.evaluate.baselines.subword import train_baseline  # noqa: E402
from treetok.evaluate.load_tokenizer import load_tokenizer  # noqa: E402
from treetok.evaluate.tree_sources import LeftBranching, Random, RightBranching  # noqa: E402
from treetok.text import profile_named  # noqa: E402
from word_boundaries import (  # noqa: E402
    ALL_WORDS,
    ANYWHERE,
    BETWEEN_HAN,
    INNER_WORDS,
    LONGER_WORDS,
    boundaries_found,
    boundary_scores,
    mean_recall,
    one_token_per_character,
    one_token_per_stretch,
    pooled_recall,
    read_rows,
    words_found,
    written_rows,
)

HAN_CHARACTERS, OTHERS = "山水火木人", "，。2A "


def random_sentence(rng):
    """Any characters in any words; words may have punctuation in them."""
    text = "".join(rng.choice(HAN_CHARACTERS if rng.random() < 0.8 else OTHERS) for _ in range(rng.randint(1, 14)))
    return GoldSentence(text, tuple(random_cut(rng, text)))


def random_cut(rng, text):
    pieces, start = [], 0
    for at in range(1, len(text) + 1):
        if at == len(text) or rng.random() < 0.5:
            pieces.append(text[start:at])
            start = at
    return pieces


def random_sentences(seed, count=12):
    rng = random.Random(seed)
    return [random_sentence(rng) for _ in range(count)]


def is_han(character):
    return unicodedata.name(character, "").startswith("CJK UNIFIED")


# ---- the text


def test_stretches():
    text = "他说：“2024年的iPhone很贵”，々〇是汉字；ひらがな不是。"
    assert stretches(text) == ["他说", "年的", "很贵", "々〇是汉字", "不是"]


@pytest.mark.parametrize("longest", [1, 2, 5, 7])
def test_parts_of_a_stretch(longest):
    for length in range(1, 30):
        stretch = "".join(chr(0x4E00 + at) for at in range(length))
        parts = list(equal_parts(stretch, longest))
        assert "".join(parts) == stretch and len(parts) == -(-length // longest)
        lengths = [len(part) for part in parts]
        assert max(lengths) <= longest and max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("longest", [1, 2, 5, 7])
def test_parts_at_weak_links(longest):
    generator = random.Random(longest)
    for length in range(1, 40):
        stretch = "".join(generator.choices(HAN_CHARACTERS, k=length))
        # Some pairs are unknown, and some are as weak as others.
        strength = {
            a + b: generator.randrange(4) for a, b in itertools.product(HAN_CHARACTERS, repeat=2) if a <= b
        }
        parts = parts_at_weak_links(stretch, longest, strength)
        assert "".join(parts) == stretch and min(map(len, parts)) >= 1 and max(map(len, parts)) <= longest
        if length <= longest:
            assert parts == [stretch]
            continue
        # The first cut is the weakest of those that leave at least a third on either side.
        found = [
            (strength.get(stretch[at - 1 : at + 1], 0), at)
            for at in range(1, length)
            if min(at, length - at) >= max(length // 3, 1)
        ]
        _, at = min(found)
        halves = (stretch[:at], stretch[at:])
        assert parts == [part for half in halves for part in parts_at_weak_links(half, longest, strength)]


def test_strength_of_pairs_by_eye():
    # 山 is there 4 times, 水 3 times, 火 once.
    strength = strengths_of_pairs(["山水山水", "山", "火", "山水"])
    assert strength == {"山水": 3 / 12, "水山": 1 / 12}


def test_running_stretches():
    texts = ["山水，火木人。", "山水2山水", "，"]
    sequence = running_stretches(texts, Cuts(longest=2))
    assert [sequence.words[number] for number in sequence.numbers] == ["山水", "火木", "人", "山水", "山水"]
    assert sequence.counts() == {"山水": 3, "火木": 1, "人": 1}
    # The same text, cut where neighbours stand together least.
    texts = ["人山水火木", "山水，火木", "火木人"]
    for at_weak_links, parts in ((False, ["人山", "水火", "木"]), (True, ["人", "山水", "火木"])):
        sequence = running_stretches(texts, Cuts(2, at_weak_links))
        assert [sequence.words[number] for number in sequence.numbers[:3]] == parts


def test_files_of_sentences(tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text("山水，火\t山水 ， 火\n火\t火\n", encoding="utf-8")
    file = read_sentences(path)
    assert file.sentences[0].word_spans == [(0, 2), (2, 3), (3, 4)]
    assert file.stretches == ["山水", "火"]
    for content, message in (
        ("山水\t山 火\n", "line 1: the words do not join"),
        ("山\t山\n山水\n", "line 2"),
        ("", "has no sentences"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(TreetokError, match=message):
            read_sentences(path)
    with pytest.raises(TreetokError, match="cannot read"):
        read_sentences(tmp_path / "none.tsv")


# ---- words that are spans


def plainly_found(sentence, spans_of_stretch):
    """Hits and words by convention, by looking around every word. A binary tree has every span that no span of it
    crosses, so that a word is found if and only if none does."""
    counts = {convention: [0, 0] for convention in (INNER_WORDS, LONGER_WORDS, ALL_WORDS)}
    start = 0
    for word in sentence.words:
        end = start + len(word)
        if all(map(is_han, word)):
            first, last = start, end
            while first > 0 and is_han(sentence.text[first - 1]):
                first -= 1
            while last < len(sentence.text) and is_han(sentence.text[last]):
                last += 1
            of_word = set(range(start - first, end - first))
            crossing = [
                span
                for span in (set(range(*span)) for span in spans_of_stretch[sentence.text[first:last]])
                if span & of_word and span - of_word and of_word - span
            ]
            conventions = [ALL_WORDS]
            if len(word) > 1:
                conventions.append(LONGER_WORDS)
                if (start, end) != (first, last):
                    conventions.append(INNER_WORDS)
            for convention in conventions:
                counts[convention][0] += not crossing
                counts[convention][1] += 1
        start = end
    return counts


@pytest.mark.parametrize("seed", range(30))
def test_words_found(seed):
    sentences = random_sentences(seed)
    of_sentences = [stretch for sentence in sentences for stretch in stretches(sentence.text)]
    spans = chinese.spans_of_trees(Random(seed), of_sentences)
    rows = words_found(sentences, spans)
    plain = [plainly_found(sentence, spans) for sentence in sentences]
    for convention, of_convention in rows.items():
        assert of_convention == [counts[convention] for counts in plain]
        table = np.array(of_convention, dtype=float)
        hits, words = map(sum, zip(*of_convention, strict=True))
        assert pooled_recall(table).value == pytest.approx(hits / words)
        shares = [Fraction(h, w) for h, w in of_convention if w]
        assert mean_recall(table).value == pytest.approx(float(sum(shares) / len(shares)))
        assert mean_recall(table).count == len(shares)


def all_trees(start, end):
    """The spans of every binary tree."""
    if end - start == 1:
        return [frozenset([(start, end)])]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left, right in itertools.product(all_trees(start, middle), all_trees(middle, end))
    ]


def test_words_found_in_all_trees():
    """A tree that has a word of w of n characters is a tree over the word and one over the n - w + 1 others."""
    catalan = [1, 1, 2, 5, 14, 42]
    text = "山水火木人土"
    trees = all_trees(0, len(text))
    assert len(trees) == catalan[5]
    for start, end in itertools.combinations(range(len(text) + 1), 2):
        words = [text[:start], text[start:end], text[end:]]
        sentence = GoldSentence(text, tuple(filter(None, [*words[0], words[1], *words[2]])))
        found = [words_found([sentence], {text: tree})[LONGER_WORDS][0] for tree in trees]
        if end - start == 1:
            assert all(row == [0, 0] for row in found)
        else:
            width = end - start
            assert sum(hits for hits, _ in found) == catalan[width - 1] * catalan[len(text) - width]


def test_words_found_by_eye():
    sentence = GoldSentence("火车站旁边，有20万人", ("火车站", "旁边", "，", "有", "20万", "人"))
    of_sentence = stretches(sentence.text)
    assert of_sentence == ["火车站旁边", "有", "万人"]
    left = words_found([sentence], chinese.spans_of_trees(LeftBranching(), of_sentence))
    # 有 and 人 are leaves; 火车站 begins the stretch; 旁边 does not. 20万 is no word of Han characters.
    assert left == {INNER_WORDS: [[1, 2]], LONGER_WORDS: [[1, 2]], ALL_WORDS: [[3, 4]]}
    right = words_found([sentence], chinese.spans_of_trees(RightBranching(), of_sentence))
    assert right == {INNER_WORDS: [[1, 2]], LONGER_WORDS: [[1, 2]], ALL_WORDS: [[3, 4]]}
    whole = GoldSentence("火车站，山水", ("火车站", "，", "山", "水"))
    assert words_found([whole], chinese.spans_of_trees(LeftBranching(), stretches(whole.text))) == {
        INNER_WORDS: [[0, 0]],
        LONGER_WORDS: [[1, 1]],
        ALL_WORDS: [[3, 3]],
    }


def test_mean_over_several_trees():
    sentences = random_sentences(3)
    of_sentences = [stretch for sentence in sentences for stretch in stretches(sentence.text)]
    several = [words_found(sentences, chinese.spans_of_trees(Random(seed), of_sentences)) for seed in range(4)]
    mean = read_rows(chinese.mean_rows(several)[LONGER_WORDS], len(several[0][LONGER_WORDS]), 2)
    pooled = [pooled_recall(np.array(rows[LONGER_WORDS], dtype=float)).value for rows in several]
    assert len(set(pooled)) > 1
    assert pooled_recall(mean).value == pytest.approx(np.mean(pooled))


def test_rows_as_text():
    rows = [[0, 0], [3, 17], [2.5, 4]]
    assert read_rows(written_rows(rows), 3, 2).tolist() == rows


# ---- boundaries


def plain_boundaries(sentence, tokens, positions):
    """By position: hits, predicted, right."""
    counts = [0, 0, 0]
    for at in range(1, len(sentence.text)):
        before, after = sentence.text[:at], sentence.text[at:]
        if positions == BETWEEN_HAN and not (is_han(before[-1]) and is_han(after[0])):
            continue
        is_predicted, is_right = (
            any("".join(pieces[:number]) == before for number in range(len(pieces) + 1))
            for pieces in (tokens, sentence.words)
        )
        counts[0] += is_predicted and is_right
        counts[1] += is_predicted
        counts[2] += is_right
    return counts


@pytest.mark.parametrize("seed", range(30))
def test_boundaries(seed):
    sentences = random_sentences(seed)
    tokens = [random_cut(random.Random(seed + 100), sentence.text) for sentence in sentences]
    for positions, rows in boundaries_found(sentences, tokens).items():
        assert rows == [plain_boundaries(s, t, positions) for s, t in zip(sentences, tokens, strict=True)]
        scores = boundary_scores(np.array(rows, dtype=float))
        hits, predicted, right = map(sum, zip(*rows, strict=True))
        precision, recall = hits / predicted, hits / right
        assert scores.precision.value == pytest.approx(precision)
        assert scores.recall.value == pytest.approx(recall)
        assert scores.f1.value == pytest.approx(2 * precision * recall / (precision + recall))
        of_sentences = [Fraction(2 * h, p + r) for h, p, r in rows if p + r]
        assert scores.mean_f1.value == pytest.approx(float(sum(of_sentences) / len(of_sentences)))


def test_boundaries_of_trivial_tokens():
    sentence = GoldSentence("山水火，木2人", ("山水", "火", "，", "木", "2", "人"))
    stretch, character = (
        boundaries_found([sentence], [tokens(sentence)])
        for tokens in (one_token_per_stretch, one_token_per_character)
    )
    assert stretch == {BETWEEN_HAN: [[0, 0, 1]], ANYWHERE: [[4, 4, 5]]}
    assert character == {BETWEEN_HAN: [[1, 2, 1]], ANYWHERE: [[5, 6, 5]]}
    nothing = boundary_scores(np.array(stretch[BETWEEN_HAN], dtype=float))
    assert np.isnan(nothing.precision.value) and nothing.recall.value == nothing.f1.value == 0


def test_tokens_that_are_not_the_sentence():
    with pytest.raises(TreetokError, match="do not join"):
        boundaries_found([GoldSentence("山水", ("山水",))], [["山", "火"]])


def test_tokens_of_sentences():
    """As in running text without a space before it."""
    sentences = read_sentences(chinese.SAMPLE).sentences
    profile = profile_named("lossless")
    counts = {}
    for sentence in sentences:
        for word in profile.split(sentence.text):
            counts[word] = counts.get(word, 0) + 1
    baseline = train_baseline("bpe", counts, 900, profile, character_coverage=1.0)
    for sentence in sentences:
        assert tokens_by(baseline)(sentence) == baseline.tokenize(sentence.text)
    # TreeTok, with characters that it does not know.
    tokens = tokens_by(load_tokenizer("en"))(GoldSentence("山水walking", ("山水", "walking")))
    assert tokens == ["山", "水", "walking"]
    with pytest.raises(TreetokError, match="should be of the profile lossless"):
        tokens_by(load_tokenizer("en-uncased"))(sentences[0])
