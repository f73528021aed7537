"""The language model of pieces, as a member of the ensemble."""

import hashlib
import json
import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")
pytest.importorskip("tokenizers")

from piece_reference import log_string, segmentations  # noqa: E402
from test_model_morphemes import SIZES, TEXTS  # noqa: E402

from conftest import SAMPLE_FILES  # noqa: E402
from treetok.errors import TreetokError  # noqa: E402
from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.charts.piece_scores import piece_split_scores  # noqa: E402
from treetok.model.data.piece_estimation import LEAST_EXPECTED, ROUNDS, log_probabilities_of  # noqa: E402
from treetok.model.data.piece_model import (  # noqa: E402
    PRIOR_LETTERS,
    PieceConfig,
    PieceModel,
    find_pieces,
)
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.distillation.pseudo_words import pseudo_compounds  # noqa: E402
from treetok.span_table import spans_before_width  # noqa: E402

COUNTS = {"walk": 9, "walks": 4, "walked": 3, "talk": 7, "talked": 2, "wind": 5, "windy": 2, "surf": 3, "red": 6}


def random_model(seed):
    generator = random.Random(seed)
    strings = {"".join(generator.choices("abc", k=generator.randint(1, 4))) for _ in range(12)}
    words = {"".join(generator.choices("abcd", k=generator.randint(1, 7))) for _ in range(8)}
    ngrams = find_pieces(dict.fromkeys(words, 1), PieceConfig(1)).ngrams
    pieces = {string: -generator.uniform(1, 6) for string in strings}
    share, shortest = generator.choice([0.0, 0.05, 0.5]), generator.choice([1, 2, 3])
    return PieceModel(pieces, ngrams, share, shortest), sorted(words)


@pytest.mark.parametrize("seed", range(8))
def test_split_scores_sum_over_all_ways_to_cut_both_halves(seed):
    model, words = random_model(seed)
    table = tabulate_substrings(words)
    by_length = torch.from_numpy(np.argsort(-table.lengths, kind="stable"))
    plan = CompleteCharts(table, np.zeros(len(table), dtype=np.int32), "cpu").plan(by_length, outside=False)
    scores = piece_split_scores(torch.from_numpy(model.log_probabilities(table.strings(words))), plan)
    for number, word in enumerate(words):
        for width in range(2, len(word) + 1):
            for start in range(len(word) - width + 1):
                span = word[start : start + width]
                at = table.first_span[number] + spans_before_width(len(word), width) + start
                row = table.substring_of_span[at] - table.width_starts[width - 1]
                expected = [log_string(model, span[:k]) + log_string(model, span[k:]) for k in range(1, width)]
                assert scores[width][row].tolist() == pytest.approx(expected, abs=1e-3)


def test_a_piece_is_known_or_new():
    ngrams = {"a": 3, "b": 1, "ab": 1, "aa": 1, "aab": 1}
    model = PieceModel({"ab": -2.0}, ngrams, new_pieces=0.1)
    # Three characters: a, b, and any other. `aab` is followed through its contexts one by one.
    a = (3 + PRIOR_LETTERS / 3) / (4 + PRIOR_LETTERS)
    b = (1 + PRIOR_LETTERS / 3) / (4 + PRIOR_LETTERS)
    a_after_a = (1 + PRIOR_LETTERS * a) / (2 + PRIOR_LETTERS)
    b_after_a = (1 + PRIOR_LETTERS * b) / (2 + PRIOR_LETTERS)
    b_after_aa = (1 + PRIOR_LETTERS * b_after_a) / (1 + PRIOR_LETTERS)
    known, new = math.log(0.9), math.log(0.1)
    expected = [known - 2, new + math.log(a * a_after_a * b_after_aa), -math.inf, known - 20]
    assert model.log_probabilities(["ab", "aab", "ba", "z"]).tolist() == pytest.approx(expected, rel=1e-5)
    # Known and new at once.
    both = PieceModel({"aab": -2.0}, ngrams, new_pieces=0.1).log_probabilities(["aab"])[0]
    assert both == pytest.approx(np.logaddexp(known - 2, expected[1]), rel=1e-5)


def test_new_pieces_have_a_shortest_length():
    strings = ["b", "ba", "baa"]
    for shortest in (1, 2, 3, 4):
        model = find_pieces({"aab": 1}, PieceConfig(1, new_pieces=0.1, shortest_new_piece=shortest))
        assert not model.pieces
        spelled = np.cumsum([model.log_last_letter(ngram) for ngram in strings])
        known = [math.log(0.9) - 20, -math.inf, -math.inf]
        new = [
            log_letters + math.log(0.1) if len(string) >= shortest else -math.inf
            for string, log_letters in zip(strings, spelled, strict=True)
        ]
        assert model.log_probabilities(strings).tolist() == pytest.approx(np.logaddexp(known, new), rel=1e-5)
        # From its file.
        again = PieceModel(**json.loads(json.dumps(model.as_json())))
        assert again.log_probabilities(strings).tolist() == model.log_probabilities(strings).tolist()


def test_letters_are_a_probability_distribution():
    model = find_pieces(COUNTS, PieceConfig(30))
    characters = sorted(set("".join(COUNTS)))
    for context in ("", "w", "wa", "al", "dd"):
        seen = sum(math.exp(model.log_last_letter(context + character)) for character in characters)
        assert seen + math.exp(model.log_last_letter(context + "?")) == pytest.approx(1)


def test_scores_do_not_depend_on_the_other_strings():
    model = find_pieces(COUNTS, PieceConfig(30))
    strings = ["walking", "wal", "w", "surfed", "walki"]
    together = model.log_probabilities(strings)
    assert [model.log_probabilities([string])[0] for string in strings] == together.tolist()


def test_pieces_of_any_text():
    """Few words, many characters, no room: there is always a model, and every string has a score."""
    for name, counts in TEXTS.items():
        for size in SIZES if name != "Chinese" else [1, 3001]:
            model = find_pieces(counts, PieceConfig(size))
            assert json.loads(json.dumps(model.as_json())) == model.as_json()
            assert np.isfinite(model.log_probabilities(["a", "漢", "abc", "abcdefgh"])[[0, 1, 2, 3]]).all()


@pytest.mark.parametrize(
    "settings", [{"size": -1}, {"new_pieces": 1.0}, {"new_pieces": -0.1}, {"shortest_new_piece": 0}]
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(TreetokError):
        PieceConfig(**settings)


PRINT_HASH = f"""
import hashlib, json, pathlib
from collections import Counter
from treetok.model.data.piece_model import *
texts = [pathlib.Path(path).read_text("utf-8") for path in {list(map(str, SAMPLE_FILES))}]
counts = Counter(word for text in texts for word in text.split())
print(hashlib.sha256(json.dumps(find_pieces(counts, PieceConfig(3000)).as_json()).encode()).hexdigest())
"""


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_estimated_from_all_ways_to_cut_the_words(seed):
    generator = random.Random(seed)
    counts = {
        "".join(generator.choices("abc", k=generator.randint(1, 6))): generator.randint(1, 9) for _ in range(9)
    }
    # A character that no piece has: its word is left out.
    counts["abx"] = 5
    strings = sorted(
        {"a", "b", "c", *("".join(generator.choices("abc", k=generator.randint(2, 4))) for _ in range(6))}
    )
    probability = dict.fromkeys(strings, 1 / len(strings))
    for _ in range(ROUNDS):
        expected = dict.fromkeys(strings, 0.0)
        for word, count in counts.items():
            cuts = [cut for cut in segmentations(word) if probability.keys() >= set(cut)]
            weights = [math.prod(probability[piece] for piece in cut) for cut in cuts]
            for cut, weight in zip(cuts, weights, strict=True):
                for piece in cut:
                    expected[piece] += count * weight / sum(weights)
        expected = {piece: max(times, LEAST_EXPECTED) for piece, times in expected.items()}
        probability = {piece: times / sum(expected.values()) for piece, times in expected.items()}
    found = log_probabilities_of(strings, counts)
    assert found == pytest.approx({piece: math.log(p) for piece, p in probability.items()}, abs=1e-4)


def test_the_number_of_cores_does_not_matter():
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINT_HASH],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(found) == 1 and len(found.pop().strip()) == hashlib.sha256().digest_size * 2


def test_pseudo_compounds():
    counts = {**COUNTS, "a": 99, "of": 99, "walkway": 3, "windsurf": 3, "co-op": 5, "extraordinary": 5, "rare": 2}
    found = pseudo_compounds(counts, 15, longest=9, seed=3)
    assert len(found) == len(set(found)) == 15
    assert found == pseudo_compounds(counts, 15, longest=9, seed=3) != pseudo_compounds(counts, 15, 9, seed=4)
    parts = {"walk", "walks", "walked", "talk", "wind", "surf", "red", "walkway", "windsurf"}
    for string in found:
        assert len(string) <= 9 and string not in counts
        assert any(string[:k] in parts and string[k:] in parts for k in range(3, len(string) - 2))
    # All that there are.
    assert set(pseudo_compounds({"red": 3, "wind": 3}, 100, longest=7)) == {"redred", "redwind", "windred"}
    assert pseudo_compounds({"of": 9}, 5, longest=9) == pseudo_compounds(COUNTS, 0, longest=9) == []
