"""All metrics of docs/evaluation.md once more, as plainly as possible: no numpy, and nothing of `treetok`.

Written from the document and not from the code, to be compared with it. A gold word is a pair of the word and its
alternatives, which are lists of morphs; a cut is a list of pieces; a tree is a set of (start, end), end exclusive.
Shares are fractions, so equal figures are equal to the last digit.
"""

import math
from fractions import Fraction
from pathlib import Path


def read(path):
    """The words of a gold file: word, tab, morphs separated by spaces, alternatives separated by ", "."""
    gold = []
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        if line:
            word, segmentation = line.split("\t")
            gold.append((word, [alternative.split(" ") for alternative in segmentation.split(", ")]))
    return gold


def inner_boundaries(pieces):
    """The offsets in a word at which it is cut."""
    places, offset = set(), 0
    for piece in pieces:
        offset += len(piece)
        places.add(offset)
    places.discard(offset)
    return places


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values) if values else None


def harmonic_mean(one, other):
    return 2 * one * other / (one + other) if one and other else Fraction(0)


# ---- segmentation


def accuracy(gold, cuts):
    """The share of words cut exactly like one of their alternatives."""
    return mean(Fraction(list(cut) in alternatives) for (_, alternatives), cut in zip(gold, cuts, strict=True))


def bag_f1(gold, cuts):
    """F1 of morphs found among the pieces, wherever they are; the best alternative of each word; their mean."""

    def of_word(alternatives, cut):
        best = Fraction(0)
        for morphs in alternatives:
            found = 0
            for morph in morphs:
                if morph in cut:
                    found += 1
            best = max(best, harmonic_mean(Fraction(found, len(cut)), Fraction(found, len(morphs))))
        return best

    return mean(of_word(alternatives, cut) for (_, alternatives), cut in zip(gold, cuts, strict=True))


def boundary_means(gold, cuts, uncut_is_perfect=False):
    """Precision and recall of boundaries, averaged over words, and the harmonic mean of the two.

    Precision is over words that were cut, recall over words that have to be; with `uncut_is_perfect`, the others
    have the value 1 instead. Words of one character never count. The best alternative is taken for each.
    """
    precisions, recalls = [], []
    for (word, alternatives), cut in zip(gold, cuts, strict=True):
        if len(word) == 1:
            continue
        predicted = inner_boundaries(cut)
        possible = [inner_boundaries(morphs) for morphs in alternatives]
        if predicted:
            precisions.append(max(Fraction(len(predicted & right), len(predicted)) for right in possible))
        elif uncut_is_perfect:
            precisions.append(Fraction(1))
        if set() not in possible:
            recalls.append(max(Fraction(len(predicted & right), len(right)) for right in possible))
        elif uncut_is_perfect:
            recalls.append(Fraction(1))
    precision, recall = mean(precisions) or Fraction(0), mean(recalls) or Fraction(0)
    return precision, recall, harmonic_mean(precision, recall)


def boundary_totals(gold, cuts):
    """Precision, recall and F1 of the boundaries of all words pooled; of each word the alternative with the best
    F1, the first one on ties, where no boundaries on either side are an F1 of 1."""
    all_hits = all_predicted = all_right = 0
    for (_, alternatives), cut in zip(gold, cuts, strict=True):
        predicted = inner_boundaries(cut)
        scored = []
        for number, morphs in enumerate(alternatives):
            right = inner_boundaries(morphs)
            hits, both = len(predicted & right), len(predicted) + len(right)
            scored.append((Fraction(2 * hits, both) if both else Fraction(1), -number, hits, len(right)))
        _, _, hits, right_boundaries = max(scored)
        all_hits += hits
        all_predicted += len(predicted)
        all_right += right_boundaries
    precision = Fraction(all_hits, all_predicted) if all_predicted else Fraction(0)
    recall = Fraction(all_hits, all_right) if all_right else Fraction(0)
    return precision, recall, harmonic_mean(precision, recall)


# ---- trees


def tree_recall(gold, trees, letters_count=False, first=None):
    """(mean over words, pooled, words counted): how many morphs are spans of the tree of their word.

    The whole word is left out; so are morphs of one letter, unless `letters_count`. Alternatives of which nothing
    is left do not count, nor do words without any other; the best alternative of a word counts.
    """
    recalls, hits_of_all, morphs_of_all = [], 0, 0
    for (word, alternatives), tree in list(zip(gold, trees, strict=True))[:first]:
        best = None
        for morphs in alternatives:
            end, sought = 0, []
            for morph in morphs:
                start, end = end, end + len(morph)
                if morph != word and (letters_count or len(morph) > 1):
                    sought.append((start, end))
            if sought:
                found = sum(span in tree for span in sought)
                if best is None or Fraction(found, len(sought)) > Fraction(*best):
                    best = found, len(sought)
        if best:
            recalls.append(Fraction(*best))
            hits_of_all += best[0]
            morphs_of_all += best[1]
    pooled = Fraction(hits_of_all, morphs_of_all) if morphs_of_all else None
    return mean(recalls), pooled, len(recalls)


def tree(length, split):
    """The spans of the tree over so many letters; `split` says where a span (start, end) is split."""
    spans, left = set(), [(0, length)]
    while left:
        start, end = left.pop()
        spans.add((start, end))
        if end - start > 1:
            middle = split(start, end)
            left += [(start, middle), (middle, end)]
    return spans


SHAPES = {
    "left": lambda start, end: end - 1,
    "right": lambda start, end: start + 1,
    # The left half is the longer one.
    "balanced": lambda start, end: (start + end + 1) // 2,
}


# ---- text


def text_figures(sentences, tokenized, vocabulary_size):
    """What `treetok eval --text` shows of the tokens of sentences, but for the words that stay whole."""
    tokens = [token for of_sentence in tokenized for token in of_sentence]
    seen = set(tokens)
    shares = [tokens.count(token) / len(tokens) for token in seen]
    entropy = math.log(sum(share**2.5 for share in shares)) / (1 - 2.5)
    return {
        "tokens_per_word": len(tokens) / sum(len(sentence.split()) for sentence in sentences),
        "tokens_per_sentence": len(tokens) / len(sentences),
        "bytes_per_token": sum(len(sentence.encode()) for sentence in sentences) / len(tokens),
        "renyi_efficiency": entropy / math.log(vocabulary_size or len(seen)),
    } | ({"vocabulary_use": len(seen) / vocabulary_size} if vocabulary_size else {})
