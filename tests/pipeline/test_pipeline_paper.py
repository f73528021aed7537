"""The preset `paper` from text to tokens: each step against the step of the paper, done here by other means."""

import dataclasses
import itertools
import json
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

import safetensors.numpy  # noqa: E402
from minute import MINUTE, files_of  # noqa: E402
from synthetic import Language  # noqa: E402

import treetok.pipeline.neural  # noqa: E402
from treetok import TreeTokenizer, TreetokError  # noqa: E402
from treetok import reference_algorithms as reference  # noqa: E402
from treetok.cli import main  # noqa: E402
from treetok.corpus.word_ids import read_sequence  # noqa: E402
from treetok.model.charts.best_trees import best_tree_depths  # noqa: E402
from treetok.model.charts.passes import inside_pass  # noqa: E402
from treetok.model.charts.pruned import PrunedCharts, PrunedPlan  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, find_morphemes  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.decoding import CompositionTrees, DecodingConfig, PrunedTrees  # noqa: E402
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.model.network.parser import stored_parser  # noqa: E402
from treetok.model.presets import PRESETS  # noqa: E402
from treetok.model.training.build_trainer import ChartText, assemble_trainer, chart_words  # noqa: E402
from treetok.pipeline.artefacts import load_trees  # noqa: E402
from treetok.pipeline.overrides import override  # noqa: E402
from treetok.segment import Segmenter  # noqa: E402
from treetok.text import profile_named  # noqa: E402
from treetok.token_entropy import entropies_by_token  # noqa: E402
from treetok.tree import split_depths  # noqa: E402

# Letters that are frequent words, and room for rare tokens: entropies and fewest tokens call for different merges.
TEXT = Language().text(1500)[0] + " a e s" * 2000
VOCAB_SIZE, SPECIAL_TOKENS = 800, 5
SETTINGS = {
    "model.composition.dimension": 8,
    "model.composition.heads": 2,
    "model.composition.hidden": 16,
    "model.composition.inside_layers": 1,
    "model.language_model.layers": 1,
    "model.language_model.heads": 2,
    "training.steps": 12,
    "training.sequences": 4,
    "training.words_per_sequence": 8,
    "ensemble.0.size": 150,
    "parser.dimension": 8,
    "parser.heads": 2,
    "parser.hidden": 16,
    "parser.layers": 1,
}
GREEDILY = DecodingConfig(mbr=False, own_morpheme=True, temperature=1.0)
BY_MBR = DecodingConfig(mbr=True, own_morpheme=False, temperature=2.0)


def command(folder, *further):
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    basics = ["--preset", "paper", "--profile", "uncased", "--vocab-size", str(VOCAB_SIZE), "--device", "cpu"]
    return ["train", str(folder / "text.txt"), "-o", str(folder / "out"), "--quiet", *basics, *settings, *further]


def no_distillation(*_, **__):
    raise AssertionError("a parser was distilled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tokenizer in `out`, trained by the command."""
    folder = tmp_path_factory.mktemp("paper")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(treetok.pipeline.neural, "distil_parser", no_distillation)
        assert main(command(folder)) == 0
    return folder


@pytest.fixture(scope="module")
def member(folder):
    return EnsembleMember.load(folder / "out" / "training" / "member-1.safetensors")


@pytest.fixture(scope="module")
def decoded(folder):
    trees = load_trees((folder / "out" / "training" / "trees.safetensors").read_bytes())
    assert trees.keys() == {word for word in profile_named("uncased").split(TEXT) if len(word) > 1}
    return trees


def depths_by(source, words):
    return {word: [-d for d in split_depths(s)] for word, s in zip(words, source.split_scores(words), strict=True)}


def test_its_parser_is_the_one_trained_with_pruned_charts(folder):
    """The same training without the pipeline gives the same parser, byte for byte."""
    preset = override(PRESETS["paper"], SETTINGS)
    sequence = read_sequence([TEXT], profile_named("uncased"))
    preset = preset.for_text(len(sequence.numbers), seed=0)
    morphemes = find_morphemes(chart_words(sequence, preset.model), MorphemeConfig("bpe", 150, 1903))
    model = dataclasses.replace(preset.model, chart="pruned", window=4)
    trainer = assemble_trainer(
        ChartText.of(sequence, model), model, preset.training, morphemes, "cpu", preset.parser
    )
    assert isinstance(trainer.maker.draw(0).plan, PrunedPlan)
    untrained = trainer.learner.parser.letter.detach().clone()
    for _ in range(12):
        trainer.take_step()
    assert not torch.equal(untrained, trainer.learner.parser.letter)
    joint = safetensors.numpy.save(stored_parser(trainer.learner.parser, morphemes).arrays())
    assert (folder / "out" / "parser.safetensors").read_bytes() == joint
    # The parser of the paper knows letters only.
    assert TreeTokenizer.load(folder / "out").state.source.morphemes == []


def test_no_parser_is_distilled(folder):
    stages = json.loads((folder / "out" / "training" / "run.json").read_text(encoding="utf-8"))["stages"]
    assert list(stages) == ["words", "morphemes-1", "member-1", "trees", "lexicon", "vocabulary"]
    settings = TreeTokenizer.load(folder / "out").settings
    assert (settings["preset"], settings["parser"], settings["vocab"]) == ("paper", "joint", "paper")
    assert "alignment" not in settings


def test_trees_are_read_greedily_off_pruned_charts(folder, member, decoded):
    words = sorted(decoded, key=lambda word: (-len(word), word))
    table = tabulate_substrings(words)
    scores = np.zeros((len(words), table.widest - 1), dtype=np.float32)
    for number, of_word in enumerate(TreeTokenizer.load(folder / "out").state.source.split_scores(words)):
        scores[number, : len(of_word)] = of_word
    merge_scores = torch.from_numpy(scores)
    morphemes = member.morphemes.ids(table.strings(words))
    plan = PrunedCharts(table, morphemes, "cpu", 4, lambda ids: merge_scores[ids]).plan(torch.arange(len(words)))
    with torch.no_grad():
        depths = best_tree_depths(plan, inside_pass(member.composition, plan)).tolist()
    pruned = {word: [-d for d in row[: len(word) - 1]] for word, row in zip(words, depths, strict=True)}
    assert decoded == pruned
    # None of the other readings would do.
    for other in (
        CompositionTrees([member], decoding=GREEDILY),
        CompositionTrees([member], decoding=BY_MBR),
        member.parser,
    ):
        assert depths_by(other, words) != decoded


def test_trees_do_not_depend_on_the_batch(member):
    words = ["a", "unblorkednesses", "§東§", "ab", "walking", "a" * 30, "e"]
    trees = PrunedTrees(member, window=4)
    together = trees.split_scores(words)
    assert [len(scores) for scores in together] == [len(word) - 1 for word in words]
    for word, scores in zip(words, together, strict=True):
        assert np.array_equal(trees.split_scores([word])[0], scores)
    with pytest.raises(TreetokError, match="pruned charts need the parser"):
        PrunedTrees(dataclasses.replace(member, parser=None), window=4)


def test_its_vocabulary_is_that_of_algorithm_3(folder, decoded):
    counts = Counter(profile_named("uncased").split(TEXT))
    trees = [(reference.parse(word, decoded.get(word, [])), count) for word, count in counts.items()]
    tokenizer = TreeTokenizer.load(folder / "out")
    of_paper = reference.build_vocabulary(trees, VOCAB_SIZE - SPECIAL_TOKENS, threshold=5, pruning_rate=0.2)
    assert dict(tokenizer.state.entries) == of_paper
    assert not tokenizer.state.fewest_tokens


def test_it_merges_by_entropy(folder):
    """Algorithms 1 and 2, on words that are not in the text."""
    tokenizer = TreeTokenizer.load(folder / "out")
    counts = dict(tokenizer.state.entries)
    entropies = entropies_by_token(counts)
    unknown, fewest = max(entropies.values()), Segmenter(counts, fewest_tokens=True)
    known = {word for word in profile_named("uncased").split(TEXT) if word.isalpha()}
    strings = [a + b for a, b in itertools.product(sorted(known)[:60:3], repeat=2) if a + b not in known]
    differing = 0
    for word, scores in zip(strings, tokenizer.state.source.split_scores(strings), strict=True):
        expected = reference.tokenize(reference.parse(word, scores.tolist()), entropies, unknown)
        assert tokenizer.segment(word) == expected
        differing += fewest.cut(word, scores) != expected
    assert differing > 0


def test_unseen_words_need_no_pytorch(folder):
    script = (
        "import sys; sys.modules['torch'] = None; from treetok import TreeTokenizer;"
        f"print(*TreeTokenizer.load({str(folder / 'out')!r}).segment('unblorkednesses'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == TreeTokenizer.load(folder / "out").segment("unblorkednesses")


def test_another_vocabulary_is_an_explicit_choice_and_recorded(folder, tmp_path, monkeypatch, capsys):
    shutil.copytree(folder, tmp_path / "copy")
    before = files_of(folder / "out")
    monkeypatch.setattr(treetok.pipeline.neural, "distil_parser", no_distillation)
    assert main(command(tmp_path / "copy", "--resume", "--vocab", "compact", "--alignment", "0.5")) == 0
    compact = TreeTokenizer.load(tmp_path / "copy" / "out")
    assert (compact.settings["vocab"], compact.settings["alignment"]) == ("compact", 0.5)
    assert compact.state.fewest_tokens
    assert main(command(tmp_path / "copy", "--resume")) == 0
    assert files_of(tmp_path / "copy" / "out") == before
    capsys.readouterr()
    assert main(command(tmp_path / "copy", "--resume", "--alignment", "0.5")) == 1
    assert capsys.readouterr().err.startswith("treetok: --alignment is for --vocab compact alone")


def test_with_other_settings_a_parser_is_distilled(tmp_path):
    """MBR decoding and complete charts leave the paper; resuming without them takes the joint parser again."""
    options = {"profile": "uncased", "progress": False, "device": "cpu", "preset": "paper", "directory": tmp_path}
    few = SETTINGS | {"distillation.epochs": 1}
    mbr = TreeTokenizer.train([TEXT], VOCAB_SIZE, settings=few | {"decoding.mbr": True}, **options)
    assert "parser" in mbr.settings["stages"]
    trained = (tmp_path / "member-1.safetensors").stat().st_mtime_ns
    greedy = TreeTokenizer.train([TEXT], VOCAB_SIZE, settings=few, resume=True, **options)
    assert "parser" not in greedy.settings["stages"]
    assert (tmp_path / "member-1.safetensors").stat().st_mtime_ns == trained
    assert not np.array_equal(mbr.state.source.weights["letter"], greedy.state.source.weights["letter"])
    with pytest.raises(TreetokError, match="pruned charts are decoded with own_morpheme = true"):
        TreeTokenizer.train([TEXT], VOCAB_SIZE, settings={"decoding.own_morpheme": False}, **options)


# ---- the readings of all presets


@pytest.mark.parametrize(
    ("name", "chart", "decoding", "vocab"),
    [
        ("best", "complete", BY_MBR, "compact"),
        ("fast", "complete", BY_MBR, "compact"),
        ("tiny", "complete", BY_MBR, "compact"),
        ("paper", "pruned", GREEDILY, "paper"),
    ],
)
def test_every_preset_reads_trees_in_its_own_way(member, decoded, name, chart, decoding, vocab):
    preset = PRESETS[name]
    read = dataclasses.replace(preset.decoding, max_word_length=decoding.max_word_length)
    assert (preset.model.chart, read, preset.vocab) == (chart, decoding, vocab)
    words = sorted(decoded)
    readings = {
        "complete": CompositionTrees([member], decoding=BY_MBR).split_scores(words),
        "pruned": PrunedTrees(member, window=4).split_scores(words),
    }
    found = preset.trees([member], "cpu").split_scores(words)
    for of_chart, scores in readings.items():
        assert all(map(np.array_equal, found, scores)) == (of_chart == chart)


@pytest.mark.parametrize(
    "decoding",
    [BY_MBR, DecodingConfig(own_morpheme=True), DecodingConfig(temperature=0.1), GREEDILY],
    ids=["mbr", "own_morpheme", "temperature", "greedy"],
)
def test_the_pipeline_reads_trees_as_the_preset_says(tmp_path, decoding):
    preset = dataclasses.replace(MINUTE, ensemble=MINUTE.ensemble[1:], decoding=decoding)
    TreeTokenizer.train(
        [TEXT], 300, profile="uncased", progress=False, device="cpu", preset=preset, directory=tmp_path
    )
    trees = load_trees((tmp_path / "trees.safetensors").read_bytes())
    member = EnsembleMember.load(tmp_path / "member-1.safetensors")
    words = sorted(trees)
    assert depths_by(CompositionTrees([member], decoding=decoding), words) == trees
    for other in {BY_MBR, GREEDILY} - {decoding}:
        assert depths_by(CompositionTrees([member], decoding=other), words) != trees
