"""Ablations: the objective of Fast-R2D2 against plain sums, and the commands on tiny models."""

import json
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("tokenizers")

import ablations  # noqa: E402
import composition_models  # noqa: E402
import morpheme_sizes  # noqa: E402
from fast_r2d2 import NOTHING, FastR2D2Learner, contexts_of  # noqa: E402
from model_scores import DROPPED, GREEDY_TREES, MBR_TREES, ModelScores, gold_tables  # noqa: E402
from treetok import TreetokError  # noqa: E402
from treetok.evaluate.compare import compare_trees  # noqa: E402
from treetok.evaluate.gold import read_gold  # noqa: E402
from treetok.evaluate.tree_sources import OverStrings  # noqa: E402
from treetok.model.batches.maker import BatchMaker  # noqa: E402
from treetok.model.batches.padding import capacity_for, pad_batch, shape_of  # noqa: E402
from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.decoding import GREEDY, CompositionTrees, PrunedTrees  # noqa: E402
from treetok.model.ensemble import EnsembleMember  # noqa: E402
from treetok.model.reference_model import RecursiveModel  # noqa: E402
from treetok.model.training.trainer import Trainer  # noqa: E402
from treetok.progress import Progress  # noqa: E402

# ---- Fast-R2D2


def random_words(seed):
    rng = random.Random(seed)
    return sorted({"".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(12)})


def batch_and_learner(seed):
    """Running words, all of which are in the batch, and a model of characters."""
    torch.manual_seed(seed)
    words = random_words(seed)
    running = random.Random(seed).choices(range(len(words)), k=20)
    table = tabulate_substrings(words)
    morphemes = MorphemeVocabulary("abc", [])
    charts = CompleteCharts(table, morphemes.of_substrings(table), "cpu")
    maker = BatchMaker(np.array(running, dtype=np.int32), table.lengths, charts.plan, 1, 20, seed, "cpu")
    sizes = CompositionConfig(dimension=8, heads=2, hidden=12, inside_layers=2)
    config = ModelConfig(sizes, LanguageModelConfig(layers=1, heads=2), max_word_length=6)
    learner = FastR2D2Learner(config, len(morphemes)).double()
    return [words[number] for number in running], maker.draw(0), learner, morphemes


def loss_by_definition(text, learner, morphemes):
    """The mean, over the characters of running words, of minus the log-probability of each given all others. Words
    of one letter have no context."""
    recursive = RecursiveModel(learner.composition, lambda s: morphemes.id(s) if len(s) == 1 else 0)
    losses = []
    for word in text:
        for at in range(len(word)) if len(word) > 1 else ():
            left = recursive.inside(word[:at])[0] if at else learner.ends[0]
            right = recursive.inside(word[at + 1 :])[0] if at + 1 < len(word) else learner.ends[1]
            x = torch.stack([left, right, learner.mask])[None]
            for layer in learner.composition.inside.layers:
                x = layer(x)
            predicted = torch.nn.functional.gelu(learner.dense(x[0, 2]), approximate="tanh")
            log_p = (learner.composition.embedding.weight @ predicted).log_softmax(0)
            losses.append(-log_p[morphemes.id(word[at])])
    return torch.stack(losses).mean()


@pytest.mark.parametrize("seed", range(4))
def test_loss_of_fast_r2d2(seed):
    text, batch, learner, morphemes = batch_and_learner(seed)
    losses = learner(batch)
    expected = loss_by_definition(text, learner, morphemes)
    torch.testing.assert_close(losses.total, expected)
    gradients = torch.autograd.grad(losses.total, list(learner.composition.inside.parameters()))
    by_definition = torch.autograd.grad(expected, list(learner.composition.inside.parameters()))
    for gradient, of_definition in zip(gradients, by_definition, strict=True):
        torch.testing.assert_close(gradient, of_definition)
    # As on a GPU, where batches are padded to one shape.
    padded = pad_batch(batch, capacity_for([shape_of(batch)]))
    torch.testing.assert_close(learner(padded).total, expected)


def test_contexts_of_spans():
    """Every span of every word, as strings."""
    words = random_words(0)
    table = tabulate_substrings(words)
    charts = CompleteCharts(table, np.zeros(len(table), dtype=np.int32), "cpu")
    by_length = sorted(range(len(words)), key=lambda number: -len(words[number]))
    plan = charts.plan(torch.tensor(by_length))
    strings = table.strings(words)
    left, right = contexts_of(plan)
    found = set()
    for row, word in enumerate(plan.word_of_outside.tolist()):
        before, after = (strings[at[row]] if at[row] != NOTHING else "" for at in (left, right))
        span = strings[plan.row_of_outside[row]]
        assert before + span + after == words[by_length[word]]
        found.add((word, len(before), len(span)))
    assert len(found) == sum(len(word) * (len(word) + 1) // 2 for word in words)


# ---- the commands


def call(monkeypatch, script, *arguments):
    monkeypatch.setattr("sys.argv", [script.__file__, *map(str, arguments)])
    script.main()


def tables_of(out):
    return json.loads(out.read_text(encoding="utf-8"))["tables"]


@pytest.fixture
def steps_taken(monkeypatch):
    """The steps that training takes."""
    steps = []
    take_step = Trainer.take_step

    def counted(trainer):
        steps.append(trainer.step)
        return take_step(trainer)

    monkeypatch.setattr(Trainer, "take_step", counted)
    return steps


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """All models of the ablations, in one call."""
    folder = tmp_path_factory.mktemp("ablations")
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["--quick", "--ensemble", "--folder", folder / "build", "--out", folder / "ablations.json"]
        call(patch, ablations, *arguments)
    return folder


def test_table(at_once, gold_sample):
    [table] = tables_of(at_once / "ablations.json")
    heading, *rows = table["grid"]
    assert [row[0] for row in rows] == list(ablations.LABELS.values())
    by_heading = [dict(zip(heading, row, strict=True)) for row in rows]
    # Recalls are those of the ordinary comparison of trees.
    member = EnsembleMember.load(at_once / "build" / "full-seed0" / "member-1.safetensors")
    gold = read_gold(gold_sample)
    for name, decoding in (("greedy", GREEDY), ("MBR", None)):
        trees = OverStrings(CompositionTrees([member], "cpu", True, decoding), "uncased")
        [figures] = compare_trees({"full": trees}, gold, Progress(False)).rows.values()
        assert by_heading[0][f"{name}, leaves dropped"].startswith(
            f"{100 * figures['leaves_dropped'].value:.1f} ("
        )
        assert by_heading[0][f"{name}, leaves counted"].startswith(
            f"{100 * figures['leaves_counted'].value:.1f} ("
        )
        first_64 = f"{100 * figures['leaves_counted_first_64'].value:.1f} ("
        assert by_heading[0][f"{name}, first 64"].startswith(first_64)
    assert by_heading[0]["p"] == "-" and 0 < float(by_heading[1]["p"]) <= 1
    assert by_heading[-1]["greedy, leaves dropped"] == "-" != by_heading[-1]["MBR, leaves dropped"]
    assert "words with morphemes to be found" in table["title"]


def test_variants_differ_in_their_switch_alone(at_once):
    scores = {path.name: ModelScores.load(path) for path in (at_once / "composition_models").iterdir()}
    full, fast = scores["full-seed0.json"], scores["fast-r2d2-seed0.json"]
    switches = {"no-context": "context", "no-span-weights": "span_weights", "no-span-loss": "span_loss"}
    for name, switch in (switches | {"no-morph-overriding": "morph_overriding"}).items():
        own = scores[f"{name}-seed0.json"].own_settings
        assert own["objective"] == full.own_settings["objective"] | {switch: False}
        assert own["morphemes"] == full.own_settings["morphemes"]
    assert all(of_one.settings == full.settings for of_one in scores.values())
    assert fast.own_settings["learner"] == "FastR2D2Learner"
    # Characters, and the two entries that are none.
    assert fast.training["morphemes"] < 80 < full.training["morphemes"] <= 202
    assert full.training["steps"] == 4 and full.training["words_seen"] == 4 * 2 * 16
    assert full.training["device"] == "CPU" and full.training["seconds"] > 0
    losses = {of_one.training.get("validation_character_loss") for of_one in scores.values()}
    assert len(losses) > 3


def test_pruned_charts(tmp_path, monkeypatch, gold_sample):
    """Greedy trees are those of charts that the model's parser prunes."""
    pruned = [
        "--quick",
        "--set",
        "model.chart=pruned",
        "--folder",
        tmp_path / "build",
        "--out",
        tmp_path / "a.json",
    ]
    with pytest.raises(TreetokError, match="fast-r2d2 is trained with complete charts only"):
        call(monkeypatch, ablations, *pruned)
    call(monkeypatch, ablations, *pruned, "--only", "full", "--title", "Pruned")
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert written["title"] == "Pruned"
    heading, row = written["tables"][0]["grid"]
    member = EnsembleMember.load(tmp_path / "build" / "full-seed0" / "member-1.safetensors")
    trees = OverStrings(PrunedTrees(member, ModelConfig().window), "uncased")
    [figures] = compare_trees({"full": trees}, read_gold(gold_sample), Progress(False)).rows.values()
    greedy = dict(zip(heading, row, strict=True))["greedy, leaves dropped"]
    assert greedy.startswith(f"{100 * figures['leaves_dropped'].value:.1f} (")


def test_a_model_of_another_training_is_not_replaced(tmp_path, monkeypatch, steps_taken):
    folder, out = tmp_path / "build", tmp_path / "a.json"
    shared = ["--quick", "--folder", folder, "--only", "full"]
    with pytest.raises(TreetokError, match="--quick has settings of its own: leave out --preset"):
        call(monkeypatch, ablations, *shared, "--preset", "paper", "--out", out)
    call(monkeypatch, ablations, *shared, "--out", out, "--title", "")
    assert json.loads(out.read_text(encoding="utf-8"))["title"] == ablations.TITLE
    member = (folder / "full-seed0" / "member-1.safetensors").read_bytes()
    taken = len(steps_taken)
    other = [*shared, "--set", "training.learning_rate=0.001", "--scores", tmp_path / "other", "--out", out]
    with pytest.raises(TreetokError, match=r"has the run of another training: .*learning_rate"):
        call(monkeypatch, ablations, *other)
    assert len(steps_taken) == taken
    assert (folder / "full-seed0" / "member-1.safetensors").read_bytes() == member


def test_scores_have_no_words_of_the_gold_file(at_once, gold_sample):
    path = at_once / "composition_models" / "full-seed0.json"
    written = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 4000
    assert not any(gold.word in written for gold in read_gold(gold_sample) if len(gold.word) > 6)


def test_nothing_is_trained_twice(at_once, monkeypatch, steps_taken, capsys):
    before = tables_of(at_once / "ablations.json")
    arguments = ["--quick", "--ensemble", "--folder", at_once / "build", "--out", at_once / "ablations.json"]
    call(monkeypatch, ablations, *arguments)
    assert not steps_taken and "trained in" not in capsys.readouterr().out
    assert tables_of(at_once / "ablations.json") == before
    # Without a text, and without models: from the scores alone.
    call(monkeypatch, ablations, "--out", at_once / "again.json")
    assert tables_of(at_once / "again.json") == before


def test_models_from_several_calls_give_the_same_table(at_once, monkeypatch, tmp_path, steps_taken):
    """One call for a model, one that is killed in the middle of the next model, and one for the rest."""
    shared = ["--quick", "--folder", tmp_path / "build", "--out", tmp_path / "ablations.json"]
    call(monkeypatch, ablations, *shared, "--only", "no-span-loss")
    assert steps_taken == [0, 1, 2, 3]
    take_step = Trainer.take_step

    def killed_at_step_2(trainer):
        if trainer.step == 2:
            raise RuntimeError("killed")
        return take_step(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "take_step", killed_at_step_2)
        patch.setattr(composition_models, "CHECKPOINT_SECONDS", 1e-9)
        with pytest.raises(RuntimeError, match="killed"):
            call(patch, ablations, *shared, "--only", "full,no-span-loss")
    assert len(tables_of(tmp_path / "ablations.json")[0]["grid"]) == 2
    steps_taken.clear()
    call(monkeypatch, ablations, *shared)
    assert steps_taken[:6] == [2, 3, 0, 1, 2, 3]
    assert len(steps_taken) == 2 + 4 * 4
    [in_parts], [whole] = tables_of(tmp_path / "ablations.json"), tables_of(at_once / "ablations.json")
    assert in_parts["grid"] == whole["grid"][:7]


def test_scores_of_another_training_are_not_overwritten(at_once, monkeypatch):
    shared = ["--quick", "--folder", at_once / "build", "--out", at_once / "other.json"]
    with pytest.raises(TreetokError, match=r"full-seed0.json is of another training: training: steps: 4 there"):
        call(monkeypatch, ablations, *shared, "--set", "training.steps=5")
    with pytest.raises(TreetokError, match="unknown model 'half'"):
        call(monkeypatch, ablations, *shared, "--only", "half")
    with pytest.raises(TreetokError, match="--only names no model: choose full, "):
        call(monkeypatch, ablations, *shared, "--only", "")
    # Nor is a model trained that could not be compared with those that are there.
    with pytest.raises(
        TreetokError, match=r"is of another training: training: steps: 4 there, 5 here; choose other"
    ):
        call(monkeypatch, morpheme_sizes, *shared, "--sizes", "150", "--set", "training.steps=5")
    assert not (at_once / "composition_models" / "bpe-150-seed0.json").exists()


@pytest.mark.parametrize(
    ("kept", "said"),
    [(True, "the same command continues from there"), (False, "nothing was kept, without --folder")],
)
def test_stopped_training_says_how_to_go_on(monkeypatch, tmp_path, kept, said):
    monkeypatch.setattr(Trainer, "run", lambda *arguments, **options: False)
    folder = ["--folder", tmp_path / "build"] if kept else []
    with pytest.raises(TreetokError, match=f"^full, seed 0: stopped at step 0 of 4 of model 1/1; {said}$"):
        call(monkeypatch, ablations, "--quick", *folder, "--only", "full", "--out", tmp_path / "ablations.json")


def test_scores_on_another_gold_file_are_added(at_once, gold_sample, monkeypatch, tmp_path, steps_taken):
    half = tmp_path / "half.tsv"
    lines = gold_sample.read_text(encoding="utf-8").splitlines(keepends=True)
    half.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    path = at_once / "composition_models" / "full-seed0.json"
    before = path.read_bytes()
    shared = ["--quick", "--folder", at_once / "build", "--out", tmp_path / "out.json", "--only", "full"]
    call(monkeypatch, ablations, *shared, "--scores", path.parent, "--gold", half)
    assert not steps_taken and set(ModelScores.load(path).gold) == {gold_sample.stem, "half"}
    path.write_bytes(before)


def test_sizes(at_once, monkeypatch, steps_taken):
    """The full model of the ablations is one of the sizes; the others are trained."""
    out, plot = at_once / "sizes.json", at_once / "sizes.svg"
    arguments = ["--folder", at_once / "build", "--out", out, "--plot", plot]
    call(monkeypatch, morpheme_sizes, "--quick", *arguments)
    assert len(steps_taken) == 2 * 4
    [table] = tables_of(out)
    assert [row[0] for row in table["grid"]] == ["morphemes", "100", "200", "300", "200, Unigram"]
    [of_ablations] = tables_of(at_once / "ablations.json")
    assert table["grid"][2][1:] == of_ablations["grid"][1][1:]
    of_unigram = next(row for row in of_ablations["grid"] if row[0] == "Unigram morphemes")
    assert table["grid"][4][1:] == of_unigram[1:]
    assert plot.read_text(encoding="utf-8").count("<svg") == 1
    # Without Unigram there are only the sizes.
    before, path = plot.read_text(encoding="utf-8"), at_once / "composition_models" / "unigram-seed0.json"
    kept = path.read_bytes()
    path.unlink()
    call(monkeypatch, morpheme_sizes, "--out", out, "--plot", plot)
    assert len(tables_of(out)[0]["grid"]) == 4 and len(plot.read_text(encoding="utf-8")) < len(before)
    path.write_bytes(kept)
    # Sizes do not get into the table of ablations.
    call(monkeypatch, ablations, "--out", at_once / "ablations.json")
    assert tables_of(at_once / "ablations.json") == [of_ablations]


def test_mean_over_seeds():
    """Words are compared by their mean over the models of a kind; words that do not count stay out."""

    def scores(name, seed, words):
        recalls = {"values": [0, 1], "words": words}
        gold = {
            "sha256": "x",
            "words": 3,
            "recalls": {GREEDY_TREES: {DROPPED: recalls, "leaves counted": recalls}},
        }
        return ModelScores(name, seed, {}, {}, {}, {}, {"words": gold})

    [table] = gold_tables([scores("full", 1, "ba-"), scores("full", 0, "bb-"), scores("other", 0, "aa-")])
    recall = table.recall("full", GREEDY_TREES, DROPPED)
    assert recall.rows.tolist() == [[1, 1], [0.5, 1], [0, 0]] and recall.count == 2
    assert table.each_seed("full", GREEDY_TREES) == "100.0, 50.0"
    assert table.cell("full", GREEDY_TREES, DROPPED).startswith("75.0 (")
    assert table.cell("full", MBR_TREES, DROPPED) == "-"
    assert table.title() == "words: 2 words with morphemes to be found"


def test_scores_of_another_experiment_are_no_table(monkeypatch, tmp_path):
    path = composition_models.ROOT / "results" / "pruned_models" / "full-seed0.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    for entry in scores["gold"].values():
        del entry["recalls"]
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / path.name).write_text(json.dumps(scores), encoding="utf-8")
    with pytest.raises(TreetokError, match="full, seed 0, has no recalls on morpho2010_en: choose other --scores"):
        call(monkeypatch, ablations, "--scores", tmp_path / "scores", "--out", tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize("script", [ablations, morpheme_sizes])
def test_a_folder_without_scores_is_named(monkeypatch, tmp_path, script):
    for scores in (tmp_path / "none", composition_models.ROOT / "results" / "chinese"):
        with pytest.raises(TreetokError, match=f"{scores} has no scores of these models: name a text to train on"):
            call(monkeypatch, script, "--scores", scores, "--out", tmp_path / "a.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold": None}, "gold is of the wrong kind"),
        ({"training": None}, "training is of the wrong kind"),
        ({"versions": []}, "versions is of the wrong kind"),
        ({"seed": "x"}, "seed is of the wrong kind"),
        ({"gold": {"morpho2010_en": {}}}, "a gold file has no SHA-256"),
        ({"unknown": 1}, "has no scores of a model: remove it"),
    ],
)
def test_damaged_scores_are_named(monkeypatch, tmp_path, change, message):
    path = composition_models.ROOT / "results" / "pruned_models" / "full-seed0.json"
    scores = json.loads(path.read_text(encoding="utf-8")) | change
    (tmp_path / path.name).write_text(json.dumps(scores), encoding="utf-8")
    with pytest.raises(TreetokError, match=f"{path.name} .*{message}"):
        call(monkeypatch, ablations, "--scores", tmp_path, "--out", tmp_path / "a.json")
