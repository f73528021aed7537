"""Presets: they are what the guide says, they fit a small text, and what is trained has their sizes."""

import dataclasses
import re
import warnings

import numpy as np
import pytest

from conftest import ROOT, SAMPLE_FILES

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

from treetok.corpus.word_ids import read_sequence  # noqa: E402
from treetok.errors import TreetokError, TreetokWarning  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes  # noqa: E402
from treetok.model.device import explained_memory_errors  # noqa: E402
from treetok.model.presets import PRESETS, Preset, default_preset, preset_named  # noqa: E402
from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words  # noqa: E402
from treetok.pipeline.ensemble import smaller_batches  # noqa: E402
from treetok.pipeline.neural import chosen_preset, warn_of_large_batches  # noqa: E402
from treetok.pipeline.options import TrainOptions  # noqa: E402
from treetok.pipeline.overrides import override  # noqa: E402
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


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("model.composition.heads", 0, "heads must be at least 1, not 0"),
        ("model.composition.dimension", -4, "dimension must be at least 1, not -4"),
        ("model.composition.hidden", 0, "hidden must be at least 1, not 0"),
        ("model.composition.inside_layers", 0, "inside_layers must be at least 1, not 0"),
        ("model.composition.heads", 3, "3 heads do not divide 32 dimensions"),
        ("model.language_model.heads", 0, "heads must be at least 1, not 0"),
        ("model.language_model.heads", 3, "the 3 heads of the language model do not divide 32 dimensions"),
        ("model.language_model.layers", -1, "layers must be at least 1, not -1"),
        ("model.language_model.dropout", 2.0, "dropout must be at least 0 and below 1, not 2.0"),
        (
            "model.language_model.max_sequence_length",
            5,
            "words_per_sequence is 24, more than max_sequence_length, 5",
        ),
        ("model.objective.count_power", -1.0, "count_power must be between 0 and 1, not -1.0"),
        ("model.max_word_length", 0, "max_word_length must be at least 2, not 0"),
        ("training.warmup_steps", -1, "warmup_steps must be at least 0 and finite, not -1"),
        ("training.learning_rate", float("inf"), "learning_rate must be above 0 and finite, not inf"),
        ("training.clip_norm", 0.0, "clip_norm must be above 0 and finite, not 0.0"),
        ("training.validation_share", 2.0, "validation_share must be at least 0 and below 1, not 2.0"),
        ("ensemble.0.method", "xyz", "unknown morphemes 'xyz': choose bpe, unigram, stems, trees or a file"),
        ("decoding.max_word_length", 2, "max_word_length must be at least 3, not 2"),
        ("decoding.mbr", False, "one model, not of an ensemble or of pieces: leave decoding.mbr at true"),
        ("pieces.size", 10**23, "the number of pieces must be from 0 to 5000000, not 1"),
        ("pieces.count_power", 2.0, "count_power must be between 0 and 1, not 2.0"),
        ("ensemble.0.size", 2_000_000_000, "size of morphemes must be from 1 to 5000000, not 2000000000"),
        ("ensemble.0.size", 0, "size of morphemes must be from 1 to 5000000, not 0"),
        ("ensemble.0.max_characters", 10**20, "max_characters of morphemes must be from 1 to 5000000, not 1000"),
    ],
)
def test_impossible_settings_are_refused_before_any_text_is_read(setting, value, message):
    with pytest.raises(TreetokError, match=re.escape(message)) as raised:
        override(PRESETS["tiny"], {setting: value})
    # Several components have settings of the same name.
    assert setting in str(raised.value)


def test_batches_for_a_gpu_are_warned_of_on_a_cpu():
    with pytest.warns(TreetokWarning, match="batches of 49152 words are for a GPU"):
        warn_of_large_batches(PRESETS["fast"], "cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_large_batches(PRESETS["tiny"], "cpu")
        warn_of_large_batches(PRESETS["fast"], "cuda")


def test_settings_of_pieces_where_there_are_none():
    def preset(**settings):
        return chosen_preset(TrainOptions(preset="tiny", settings=settings), "cpu")

    without = {"pieces.size": 0, "pieces.shortest_new_piece": 2, "decoding.piece_temperature": 2.0}
    with pytest.warns(
        TreetokWarning, match=r"^without effect: decoding\.piece_temperature, pieces\.shortest_new_piece;"
    ):
        preset(**without)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preset(**without | {"pieces.size": 9})
        preset(**{"pieces.size": 0, "decoding.temperature": 1.0})
        preset(**{"pieces.new_pieces": 0.0})


def test_settings_of_what_is_not_used():
    def preset(name, **settings):
        return chosen_preset(TrainOptions(preset=name, settings=settings), "cpu")

    with pytest.warns(
        TreetokWarning, match=r"^without effect: pieces\.shortest_new_piece; pieces\.new_pieces is 0"
    ):
        preset("tiny", **{"pieces.new_pieces": 0.0, "pieces.shortest_new_piece": 2})
    with pytest.warns(TreetokWarning, match=r"^without effect: decoding\.temperature; decoding\.mbr is false"):
        preset("paper", **{"decoding.temperature": 50.0})


def test_a_batch_that_does_not_fit_into_memory():
    with (
        pytest.raises(
            TreetokError, match=r"^out of memory: batches of 512 .*training\.sequences=128, with more steps"
        ),
        explained_memory_errors(smaller_batches(512)),
    ):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    with pytest.raises(TreetokError, match=r"^out of memory: too large$"), explained_memory_errors("too large"):
        np.zeros(2**58)
    with pytest.raises(RuntimeError, match="another error"), explained_memory_errors(""):
        raise RuntimeError("another error")
