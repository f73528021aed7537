"""Presets: they are what the guide says, they fit a small text, and what is trained has their sizes."""

import dataclasses
import re

import pytest

from conftest import ROOT, SAMPLE_FILES

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

from treetok.corpus.word_ids import read_sequence  # noqa: E402
from treetok.errors import TreetokError  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes  # noqa: E402
from treetok.model.presets import PRESETS, Preset, default_preset, preset_named  # noqa: E402
from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words  # noqa: E402
from treetok.text import profile_named  # noqa: E402


@pytest.fixture(scope="module")
def table_of_the_guide():
    """Row -> preset -> cell, from docs/training.md."""
    lines = (ROOT / "docs" / "training.md").read_text(encoding="utf-8").split("\n")
    begin = next(number for number, line in enumerate(lines) if line.startswith("| | `best`"))
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    names = [name.strip("`") for name in rows[0][1:]]
    return {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows[2:]}


def number(cell):
    return int(re.match(r"[\d ]+", cell)[0].replace(" ", "")) if cell[:1].isdigit() else 0


@pytest.mark.parametrize("name", ["best", "fast", "tiny"])
def test_the_guide_tells_the_truth(table_of_the_guide, name):
    cells = {row: of_presets[name] for row, of_presets in table_of_the_guide.items()}
    preset = PRESETS[name]
    assert number(cells["steps per model"]) == preset.training.steps
    words = preset.training.sequences * preset.training.words_per_sequence
    assert number(cells["words per batch"]) == words
    trained, decoded = preset.model.max_word_length, preset.decoding.max_word_length
    assert cells["longest word trained on, decoded"] == f"{trained}, {decoded} letters"
    pseudo_words, _, made_of_two = cells["pseudo-words for the parser"].partition(", and ")
    assert (number(pseudo_words), number(made_of_two)) == (preset.pseudo_words, preset.pseudo_compounds)


def test_ensembles():
    ensembles = {name: [(m.method, m.size) for m in preset.ensemble] for name, preset in PRESETS.items()}
    assert ensembles["best"] == [("bpe", 10_000), ("unigram", 10_000), ("trees", 24_000)]
    assert ensembles["fast"] == [("bpe", 10_000), ("unigram", 10_000)]
    assert ensembles["tiny"] == [("bpe", 2000)]
    pieces = {name: preset.pieces.size for name, preset in PRESETS.items()}
    assert pieces == {"best": 40_000, "fast": 40_000, "tiny": 16_000, "paper": 0}
    assert len(ensembles["paper"]) == 1
    # Unigram vocabularies and stems are of types rather than of running words.
    for preset in PRESETS.values():
        for member in preset.ensemble:
            assert member.count_power == (0.5 if member.method in ("unigram", "stems") else 1.0)


# Steps and warm-up for a text of 1000, 20 000 and a trillion running words: at most 60 passes (200 for `tiny`) and
# at least 20 steps, at most a quarter of them to warm up. A step of `tiny` has 8 * 24 words, of `fast` 512 * 96.
FITTED = {
    "best": [(20, 5), (24, 6), (1300, 150)],
    "fast": [(20, 5), (24, 6), (1300, 150)],
    "tiny": [(750, 50), (750, 50), (750, 50)],
}


@pytest.mark.parametrize("name", FITTED)
def test_presets_are_fitted_to_a_small_text(name):
    for words, expected in zip((1000, 20_000, 10**12), FITTED[name], strict=True):
        fitted = PRESETS[name].for_text(words, seed=3)
        assert (fitted.training.steps, fitted.training.warmup_steps) == expected
        assert (fitted.training.seed, fitted.distillation.seed) == (3, 3)
        # Nothing else is changed.
        before = {key: getattr(PRESETS[name].training, key) for key in ("steps", "warmup_steps", "seed")}
        training = dataclasses.replace(fitted.training, **before)
        distillation = dataclasses.replace(fitted.distillation, seed=PRESETS[name].distillation.seed)
        assert dataclasses.replace(fitted, training=training, distillation=distillation) == PRESETS[name]
    # 100 words are not enough for all steps of `tiny`: 200 * 100 // 192.
    assert PRESETS["tiny"].for_text(100, seed=0).training.steps == 104


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_assembled(name):
    """What is trained has the sizes, the charts and the settings of the preset, and a seed of its own."""
    preset = PRESETS[name]
    text = [SAMPLE_FILES[0].read_text(encoding="utf-8")]
    sequence = read_sequence(text, profile_named("uncased"))
    morphemes = find_morphemes(chart_words(sequence, preset.model), MorphemeConfig("bpe", 300))
    last = len(preset.ensemble) - 1
    training = preset.for_text(10**12, seed=7).training_of_member(last)
    small = {"sequences": 2, "words_per_sequence": 4, "validation_share": 0.0}
    training = dataclasses.replace(training, **small)
    trainer = assemble_trainer(
        ChartText.of(sequence, preset.model), preset.model, training, morphemes, "cpu", preset.parser
    )
    learner = trainer.learner
    assert learner.config == preset.model
    assert learner.long_word.shape == (preset.model.composition.dimension,)
    assert (learner.parser is not None) == (preset.model.chart == "pruned")
    assert trainer.config == dataclasses.replace(preset.training, seed=7 + last, **small)


def test_names_of_presets():
    assert (default_preset("cpu"), default_preset("cuda:1")) == ("tiny", "fast")
    assert preset_named(None, "cpu") is PRESETS["tiny"]
    assert preset_named(None, "cuda") is PRESETS["fast"]
    assert preset_named("best", "cpu") is PRESETS["best"]
    with pytest.raises(TreetokError, match="unknown preset 'slow': choose best, fast, tiny, paper"):
        preset_named("slow", "cpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ensemble": ()}, "an ensemble has at least one member"),
        ({"ensemble": (MorphemeConfig("trees", 9),)}, "the first member of an ensemble has no trees"),
        ({"pseudo_words": -1}, "pseudo_words must be at least 0, not -1"),
        ({"max_epochs": 0}, "max_epochs must be at least 1, not 0"),
        ({"max_words": 0}, "max_words must be at least 1, not 0"),
    ],
)
def test_presets_that_make_no_sense(settings, message):
    with pytest.raises(TreetokError, match=message):
        Preset(**settings)
