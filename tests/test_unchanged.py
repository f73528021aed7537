"""What refactoring must not change: ids of the shipped tokenizers, vocabularies, losses of the first steps.

After an intended change of behaviour, record them again:

    .venv/bin/python tests/test_unchanged.py
"""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from treetok import TreeTokenizer

RECORDED = Path(__file__).with_name("unchanged.json")
SAMPLE_FILES = sorted((Path(__file__).resolve().parent.parent / "sample_text").glob("*.txt"))
TOKENIZERS = ("en", "en-uncased")
VOCABULARIES = {
    "lossless compact": {"profile": "lossless"},
    "lossless paper": {"profile": "lossless", "vocab": "paper"},
    "uncased compact": {"profile": "uncased"},
    "uncased compact, alignment 0.8": {"profile": "uncased", "alignment": 0.8},
    "uncased paper": {"profile": "uncased", "vocab": "paper"},
}
PRESETS = ("tiny", "fast", "paper")
STEPS = 4


def sha256(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def ids_of(name):
    tokenizer = TreeTokenizer.load(name)
    return sha256([tokenizer.encode(path.read_text(encoding="utf-8")) for path in SAMPLE_FILES])


def vocabulary_of(name):
    options = VOCABULARIES[name]
    return sha256(TreeTokenizer.train(SAMPLE_FILES, 1500, "counts", progress=False, **options).state.entries)


def losses_of(name):
    """The losses of the first steps of every member, with a small batch."""
    import torch

    from treetok.corpus.word_ids import read_sequence
    from treetok.model.data.morpheme_vocabulary import find_morphemes
    from treetok.model.presets import PRESETS
    from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words
    from treetok.text import profile_named

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    preset = PRESETS[name]
    texts = [path.read_text(encoding="utf-8") for path in SAMPLE_FILES]
    sequence = read_sequence(texts, profile_named("uncased"))
    losses = []
    for number, morphemes in enumerate(preset.ensemble):
        small = dataclasses.replace(morphemes, size=min(morphemes.size, 2000))
        found = find_morphemes(chart_words(sequence, preset.model), small)
        config = dataclasses.replace(preset.training_of_member(number), sequences=2, words_per_sequence=16)
        trainer = assemble_trainer(
            ChartText.of(sequence, preset.model), preset.model, config, found, "cpu", preset.parser
        )
        losses += [trainer.take_step().tolist() for _ in range(STEPS)]
    torch.set_num_threads(threads)
    return losses


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TOKENIZERS)
def test_ids_of_the_shipped_tokenizers(recorded, name):
    assert ids_of(name) == recorded["ids"][name]


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies(recorded, name):
    assert vocabulary_of(name) == recorded["vocabularies"][name]


@pytest.mark.parametrize("name", PRESETS)
def test_losses_of_the_first_steps(recorded, name):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
    # Bit-exact on the machine that recorded them; other processors add in a different order.
    for step, expected in zip(losses_of(name), recorded["losses"][name], strict=True):
        assert step == pytest.approx(expected, rel=1e-4)


if __name__ == "__main__":
    figures = {
        "ids": {name: ids_of(name) for name in TOKENIZERS},
        "vocabularies": {name: vocabulary_of(name) for name in VOCABULARIES},
        "losses": {name: losses_of(name) for name in PRESETS},
    }
    RECORDED.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
