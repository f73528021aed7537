"""Decoding by the fused kernels gives the trees of the plain modules.

Without a GPU the kernels run in Triton's interpreter (tests/conftest.py).
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("triton", reason="Triton is not installed")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from treetok.model import fused_decoding  # noqa: E402
from treetok.model.charts.batch_substrings import BatchSubstrings  # noqa: E402
from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.charts.morpheme_index import MorphemeIndex  # noqa: E402
from treetok.model.charts.piece_index import PieceIndex  # noqa: E402
from treetok.model.charts.piece_scores import piece_split_scores  # noqa: E402
from treetok.model.config import CompositionConfig  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary  # noqa: E402
from treetok.model.data.piece_model import PieceModel  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.decoding import (  # noqa: E402
    LEAST_PROBABILITY,
    CompositionTrees,
    DecodingConfig,
    expected_spans,
    log_probabilities,
    mbr_splits,
    split_depths_of,
    split_scores_by_width,
)
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.model.fused_decoding import FusedTrees  # noqa: E402
from treetok.model.kernels import inside_scores  # noqa: E402
from treetok.model.kernels.inside_scores import InsideScores  # noqa: E402
from treetok.model.kernels.mbr_trees import add_log_probabilities, best_trees  # noqa: E402
from treetok.model.network.composition import CompositionModel  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = ["abacus", "babac", "abac", "cab", "us", "b", "abacusab"]
SIZES = CompositionConfig(dimension=16, heads=2, hidden=32, inside_layers=2)


def string_of(substrings, words, number):
    width = next(w for w in range(1, substrings.widest + 1) if number < substrings.width_starts[w])
    start = int(substrings.start_U[number])
    return words[int(substrings.word_U[number])][start : start + width]


def member(seed, morphemes):
    torch.manual_seed(seed)
    model = CompositionModel(SIZES, len(morphemes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return EnsembleMember(model.to(DEVICE), morphemes)


MEMBERS = [
    member(1, MorphemeVocabulary("abcus", ["ab", "ac", "aba", "us"])),
    member(2, MorphemeVocabulary("abcu", ["cus", "abacus"])),
]


PIECES = PieceModel(
    {"a": -3.0, "b": -23.5, "s": -2.0, "abac": -4.0, "us": -3.5, "cab": -5.0},
    {"a": 5, "b": 3, "c": 3, "s": 1, "ab": 4, "ba": 2, "ac": 3, "aba": 2, "cus": 1, "us": 1},
    new_pieces=0.1,
)


@given(st.lists(st.text("ab\U0001f600ü", min_size=1, max_size=7), min_size=1, max_size=6))
@settings(max_examples=40)
def test_substrings_and_their_halves(words):
    substrings = BatchSubstrings.of_words(words, DEVICE)
    table = tabulate_substrings(words)
    assert substrings.width_starts == table.width_starts.tolist()
    assert substrings.spans.first_span.tolist() == table.first_span.tolist()

    strings = [string_of(substrings, words, number) for number in range(len(substrings))]
    assert sorted(strings) == sorted(table.strings(words))
    spans = [w[s : s + width] for w in words for width in range(1, len(w) + 1) for s in range(len(w) - width + 1)]
    assert [strings[number] for number in substrings.substring_of_span.tolist()] == spans
    for width in range(2, substrings.widest + 1):
        first, last = substrings.width_starts[width - 1 : width + 1]
        left, right = substrings.halves(width, first, last)
        for cell in range(first, last):
            for k in range(1, width):
                parts = strings[left[cell - first, k - 1]], strings[right[cell - first, k - 1]]
                assert parts == (strings[cell][:k], strings[cell][k:])
    assert substrings.first_splits().tolist() == np.cumsum([0, *(len(s) - 1 for s in strings)]).tolist()
    morphemes = MorphemeVocabulary("ab", ["ab", "ba", "bb\U0001f600"])
    of_substrings = MorphemeIndex(morphemes, DEVICE).of_substrings(substrings)
    assert of_substrings.tolist() == morphemes.ids(strings).tolist()


def test_no_morphemes():
    substrings = BatchSubstrings.of_words(["ab"], DEVICE)
    assert MorphemeIndex(MorphemeVocabulary("", []), DEVICE).of_substrings(substrings).tolist() == [1, 1, 0]


@pytest.mark.parametrize("at_once", [4, 1 << 18])
@pytest.mark.parametrize(("overriding", "own"), [(True, False), (True, True), (False, False)])
def test_scores_are_those_of_the_plain_modules(overriding, own, at_once, monkeypatch):
    monkeypatch.setattr(inside_scores, "PAIRS_AT_ONCE", at_once)
    substrings = BatchSubstrings.of_words(WORDS, DEVICE)
    table = tabulate_substrings(WORDS)
    strings = table.strings(WORDS)
    for model in MEMBERS:
        charts = CompleteCharts(table, model.morphemes.ids(strings), DEVICE)
        order = torch.from_numpy(np.argsort(-table.lengths, kind="stable")).to(DEVICE)
        with torch.no_grad():
            plain = split_scores_by_width(model.composition, charts.plan(order, outside=False), overriding, own)
            morphemes = MorphemeIndex(model.morphemes, DEVICE).of_substrings(substrings)
            scorer = InsideScores(model.composition, overriding, own, torch.float32)
            fused = scorer.of_substrings(substrings, morphemes).tolist()
        first = substrings.first_splits().tolist()
        of_plain = {}
        for width, scores in plain.items():
            rows = range(int(table.width_starts[width - 1]), int(table.width_starts[width]))
            of_plain |= {strings[row]: of_row for row, of_row in zip(rows, scores.tolist(), strict=True)}
        for number in range(substrings.width_starts[1], len(substrings)):
            string = string_of(substrings, WORDS, number)
            assert fused[first[number] : first[number + 1]] == pytest.approx(of_plain[string], abs=1e-4), string


@given(st.integers(2, 8), st.integers(0, 10**6))
@settings(max_examples=10)
def test_probabilities_and_best_trees_of_random_scores(n, seed):
    """Words without a common substring, so that every span has scores of its own; two of another length."""
    generator = torch.Generator().manual_seed(seed)
    letters = iter(map(chr, range(0x4E00, 0x9FFF)))
    words = ["".join(next(letters) for _ in range(length)) for length in (n, 3, n, 1, n)]
    substrings = BatchSubstrings.of_words(words, DEVICE)
    first = substrings.first_splits()
    of_members = [torch.randn(int(first[-1]), generator=generator).to(DEVICE) * 3 for _ in range(2)]
    total = torch.zeros(substrings.spans.total, device=DEVICE)
    for scores in of_members:
        add_log_probabilities(substrings, scores, 2.0, LEAST_PROBABILITY, total)
    depths, margins = best_trees(substrings, total)
    numbers = [number for number, word in enumerate(words) if len(word) == n]
    of_span = torch.zeros(len(numbers), n, n + 1)
    for scores in of_members:
        by_width, rows = {}, {}
        for width in range(2, n + 1):
            spans = [
                [int(substrings.spans.ids(torch.tensor(w), width, torch.tensor(s))) for s in range(n - width + 1)]
                for w in numbers
            ]
            cells = [int(substrings.substring_of_span[span]) for of_word in spans for span in of_word]
            by_width[width] = torch.stack([scores[first[c] : first[c + 1]].cpu() for c in cells])
            rows[width] = torch.arange(len(cells)).view(len(numbers), -1)
        of_span += log_probabilities(expected_spans(by_width, rows, len(numbers), n, 2.0))
    for at, number in enumerate(numbers):
        for width in range(2, n + 1):
            for start in range(n - width + 1):
                span = int(substrings.spans.ids(torch.tensor(number), width, torch.tensor(start)))
                assert float(total[span]) == pytest.approx(float(of_span[at, start, width]), abs=1e-5)
    plain = [(-tree).astype(int).tolist() for tree in split_depths_of(mbr_splits(of_span))]
    assert [depths[number, : n - 1].tolist() for number in numbers] == plain
    assert margins[[len(word) == 1 for word in words].index(True)] == torch.inf
    for at, number in enumerate(numbers):
        values = sorted(value_of_trees(of_span[at], 0, n), reverse=True)
        ahead = values[0] - values[1] if len(values) > 1 else torch.inf
        assert float(margins[number]) == pytest.approx(ahead, abs=1e-4)


def value_of_trees(of_span, start, width):
    """The sum over the spans of every tree over a span."""
    if width == 1:
        return [0.0]
    own = float(of_span[start, width])
    return [
        own + left + right
        for k in range(1, width)
        for left in value_of_trees(of_span, start, k)
        for right in value_of_trees(of_span, start + k, width - k)
    ]


@pytest.mark.parametrize(
    ("members", "splits_per_batch", "decoding", "pieces"),
    [
        (MEMBERS, 30, DecodingConfig(), None),
        (MEMBERS, 10**9, DecodingConfig(), None),
        (MEMBERS[:1], 10**9, DecodingConfig(own_morpheme=True, temperature=1.0), PIECES),
        (MEMBERS, 10**9, DecodingConfig(piece_temperature=4.0), PIECES),
    ],
    ids=["in small batches", "two models", "one model and pieces", "pieces at another temperature"],
)
def test_trees_are_those_of_the_plain_modules(members, splits_per_batch, decoding, pieces, monkeypatch):
    monkeypatch.setattr(fused_decoding, "SPLITS_PER_BATCH", splits_per_batch)
    plain = CompositionTrees(members, DEVICE, decoding=decoding, pieces=pieces).split_scores(WORDS)
    fused = FusedTrees(members, DEVICE, decoding=decoding, pieces=pieces).split_scores(WORDS)
    assert [tree.tolist() for tree in fused] == [tree.tolist() for tree in plain]


@pytest.mark.parametrize(("new_pieces", "shortest"), [(0.0, 3), (0.1, 1), (0.1, 2), (0.1, 3), (0.1, 99)])
def test_scores_of_pieces_are_those_of_the_plain_model(new_pieces, shortest):
    model = PieceModel(PIECES.pieces, PIECES.ngrams, new_pieces, shortest)
    substrings, table = BatchSubstrings.of_words(WORDS, DEVICE), tabulate_substrings(WORDS)
    fused = PieceIndex(model, DEVICE)
    strings = [string_of(substrings, WORDS, number) for number in range(len(substrings))]
    log_probabilities = fused.log_probabilities(WORDS, substrings)
    assert log_probabilities.tolist() == pytest.approx(model.log_probabilities(strings).tolist(), rel=1e-5)
    order = torch.from_numpy(np.argsort(-table.lengths, kind="stable")).to(DEVICE)
    plan = CompleteCharts(table, np.zeros(len(table), dtype=np.int32), DEVICE).plan(order, outside=False)
    of_table = table.strings(WORDS)
    log_pieces = torch.from_numpy(model.log_probabilities(of_table)).to(DEVICE)
    plain = {}
    for width, scores in piece_split_scores(log_pieces, plan).items():
        first = int(table.width_starts[width - 1])
        plain |= dict(zip(of_table[first:], scores.tolist(), strict=False))
    scores, first = fused.split_scores(WORDS, substrings).tolist(), substrings.first_splits().tolist()
    for number, string in enumerate(strings):
        if len(string) > 1:
            assert scores[first[number] : first[number + 1]] == pytest.approx(plain[string], rel=1e-4), string


def test_no_known_pieces():
    substrings = BatchSubstrings.of_words(["ab"], DEVICE)
    model = PieceModel({}, {}, 0.0)
    found = PieceIndex(model, DEVICE).log_probabilities(["ab"], substrings)
    assert found.tolist() == [-20.0, -20.0, -torch.inf]


def test_near_ties_are_decoded_in_32_bits(monkeypatch):
    used = []

    class Spy(InsideScores):
        def of_substrings(self, substrings, morphemes):
            used.append((self.embedding.dtype, len(substrings.spans.lengths)))
            return super().of_substrings(substrings, morphemes)

    monkeypatch.setattr(fused_decoding, "InsideScores", Spy)
    monkeypatch.setattr(fused_decoding, "NEAR_TIE", 0.0)
    FusedTrees(MEMBERS[:1], DEVICE).split_scores(WORDS)
    assert used == [(torch.float16, 6)]
    used.clear()
    monkeypatch.setattr(fused_decoding, "NEAR_TIE", 1e9)
    trees = FusedTrees(MEMBERS[:1], DEVICE).split_scores(WORDS)
    # Words of two letters have one tree, which is ahead of any other by infinity.
    assert used == [(torch.float16, 6), (torch.float32, 5)]
    assert [len(tree) for tree in trees] == [len(word) - 1 for word in WORDS]


def test_no_words():
    assert FusedTrees(MEMBERS, DEVICE).split_scores([]) == []
    assert [tree.tolist() for tree in FusedTrees(MEMBERS, DEVICE).split_scores(["a", "ab"])] == [[], [0.0]]
