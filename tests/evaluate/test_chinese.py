"""The Chinese experiment, on tiny models; its metrics are tested in test_word_boundaries.py."""

import argparse
import dataclasses
import json
import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("tokenizers")

from tokenizers import Tokenizer, models  # noqa: E402

import chinese  # noqa: E402
import chinese_models  # noqa: E402
import chinese_recipes  # noqa: E402
import chinese_variants  # noqa: E402
from chinese_tables import REFERENCE, TREES  # noqa: E402
from han_text import HAN, read_sentences  # noqa: E402
from model_scores import ModelScores, load_scores  # noqa: E402
from neural_pcfg.training import Trainer as GrammarTrainer  # noqa: E402
from treetok import TreetokError  # noqa: E402
from treetok.evaluate.load_tokenizer import load_tokenizer  # noqa: E402
from treetok.evaluate.tree_sources import LeftBranching  # noqa: E402
from treetok.model.training.trainer import Trainer  # noqa: E402
from word_boundaries import CONVENTIONS, words_found  # noqa: E402


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", [chinese.__file__, *map(str, arguments)])
    chinese.main()


def tables_of(out):
    return json.loads(out.read_text(encoding="utf-8"))["tables"]


@pytest.fixture
def steps_taken(monkeypatch):
    """The steps that training takes, of models and of the grammar."""
    steps = []
    for kind in (Trainer, GrammarTrainer):

        def counted(trainer, take_step=kind.take_step):
            steps.append(trainer.step)
            return take_step(trainer)

        monkeypatch.setattr(kind, "take_step", counted)
    return steps


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chinese")
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["--quick", "--folder", folder / "build", "--out", folder / "chinese.json"]
        call(patch, *arguments, "--model", "en", "--against", "bpe,unigram")
    return folder


def test_tables(at_once):
    trees, *boundaries = tables_of(at_once / "chinese.json")
    heading, *rows = trees["grid"]
    assert list(dict.fromkeys(row[0] for row in rows)) == list(TREES.values())
    decodings = [
        *["greedy", "MBR"] * len(chinese_recipes.RECIPES),
        *["MBR"] * (len(chinese_recipes.ENSEMBLES) + 1),
    ]
    assert [row[1] for row in rows[: len(decodings)]] == decodings
    by_name = {row[0]: dict(zip(heading, row, strict=True)) for row in rows}
    # Decoded by MBR: models differ, and an ensemble is none of its members.
    # In so short a text, Unigram finds the same morphemes however many it is asked for, and --quick limits times.
    same = {"weak-links-unigram-x4", "longer-weak-links", "longer-weak-links-fewer-unigram"}
    names = [name for name in (*chinese_recipes.RECIPES, *chinese_recipes.ENSEMBLES) if name not in same]
    figures = [tuple(by_name[TREES[name]][convention] for convention in CONVENTIONS) for name in names]
    assert len(set(figures)) == len(figures)
    assert by_name["neural PCFG"]["paper"] == "74.26"
    assert {name for name in by_name if by_name[name]["p"] == "-"} == {TREES[REFERENCE]}
    assert 0.2 < float(by_name[TREES["weak-links"]]["p"]) <= 1 and float(by_name["balanced"]["p"]) < 0.05
    file = read_sentences(chinese.SAMPLE)
    found = words_found(file.sentences, chinese.spans_of_trees(LeftBranching(), file.stretches))
    for convention, counts in found.items():
        hits, words = map(sum, zip(*counts, strict=True))
        assert by_name["left-branching"][convention].startswith(f"{100 * hits / words:.1f} (")
        assert f"{words} {convention}" in trees["title"]
    names = ["TreeTok en", "BPE", "Unigram", "one per character", "one per stretch"]
    assert [[row[0] for row in table["grid"][1:]] for table in boundaries] == [names, names]
    between = [dict(zip(boundaries[0]["grid"][0], row, strict=True)) for row in boundaries[0]["grid"][1:]]
    assert between[3]["R"] == "100.0 (100.0-100.0)" and between[4]["P"] == "-"
    assert between[3]["characters/token"] == "1.000" and between[1]["|V|"] == "896"
    # A tokenizer of English: most characters are three bytes.
    tokens = load_tokenizer("en").tokenize("".join(sentence.text for sentence in file.sentences))
    characters = sum(len(sentence.text) for sentence in file.sentences)
    assert between[0]["characters/token"] == f"{characters / len(tokens):.3f}" < "0.6"
    notes = json.loads((at_once / "chinese.json").read_text(encoding="utf-8"))["notes"]
    found = json.loads((at_once / "build" / "weak-links-pieces" / "pieces.json").read_text(encoding="utf-8"))
    pieces = (
        f"a language model of {len(found['pieces'])} pieces of Unigram, and of new ones of at least 2 characters;"
        " temperatures 1.75 of models and 1.5 of"
    )
    assert notes["pieces"].startswith(pieces)
    assert (
        "pruned charts" in notes["training"]
        and "passes" in notes["training"]
        and notes["device"] == "CPU, of training"
    )


def test_scores_have_no_text(at_once):
    for path in at_once.glob("chinese/**/*.json"):
        assert not HAN.search(path.read_text(encoding="utf-8"))


def test_models_differ_in_what_they_are_named_for(at_once):
    scores = {path.name: ModelScores.load(path) for path in (at_once / "chinese").glob("*.json")}
    complete, pruned = (scores[f"{chart}-seed0.json"].own_settings for chart in ("complete", "pruned"))
    for chart, full in (("complete", complete), ("pruned", pruned)):
        without = scores[f"{chart}-no-overriding-seed0.json"].own_settings
        assert without["model"]["objective"] == full["model"]["objective"] | {"morph_overriding": False}
        assert {**without["model"], "objective": None} == {**full["model"], "objective": None}
        assert without["training"] == full["training"] and without["morphemes"] == full["morphemes"]
    assert pruned["model"] == complete["model"] | {"chart": "pruned"}
    names = ("complete-no-overriding", "complete-no-overriding-longer", "complete-no-overriding-unigram")
    shorter, longer, unigram = (scores[f"{name}-seed0.json"] for name in names)
    of_pruned = scores["pruned-no-overriding-unigram-seed0.json"]
    assert [one.training["steps"] for one in (shorter, longer, unigram, of_pruned)] == [4, 12, 12, 12]
    # Stretches of the sample are shorter than those of either model.
    models = [one.own_settings["model"] for one in (shorter, longer, unigram)]
    assert models[0] == models[1] == models[2]
    assert of_pruned.own_settings["model"] == models[0] | {"chart": "pruned"}
    of_bpe, of_unigram, of_both = (one.own_settings["morphemes"] for one in (longer, unigram, of_pruned))
    assert of_both == of_unigram == of_bpe | {"method": "unigram", "size": 2 * of_bpe["size"]}
    names = [name for name in chinese_recipes.RECIPES if "weak-links" in name]
    at_weak_links = [scores[f"{name}-seed0.json"].own_settings for name in names]
    weak = at_weak_links[0]
    assert weak == longer.own_settings | {"times": 3, "cuts": "weak links"}
    charts = ["complete"] * 4 + ["pruned"] * 2 + ["complete"] * 3
    assert [one["model"] for one in at_weak_links] == [models[0] | {"chart": chart} for chart in charts]
    # No two with the same charts and the same length of stretches have the same morphemes.
    factors = [("bpe", 1), ("bpe", 3), ("unigram", 2), ("unigram", 4), ("bpe", 2), ("unigram", 2)]
    factors += [("bpe", 1), ("bpe", 0.6), ("unigram", 0.8)]
    assert [one["morphemes"] for one in at_weak_links] == [
        of_bpe | {"method": method, "size": round(factor * of_bpe["size"])} for method, factor in factors
    ]
    alike = ("training", "times", "cuts")
    assert all([one[key] for key in alike] == [weak[key] for key in alike] for one in at_weak_links)
    for ensemble, names in chinese_recipes.ENSEMBLES.items():
        own = scores[f"{ensemble}-seed0.json"].own_settings
        assert own["members"] == {name: scores[f"{name}-seed0.json"].own_settings for name in names}
        if ensemble in chinese_recipes.WITH_PIECES:
            assert own["pieces"]["size"] == chinese_recipes.PIECES_FACTOR * of_bpe["size"]
            assert own["decoding"] == dataclasses.asdict(chinese_recipes.DECODING_WITH_PIECES)
        else:
            assert set(own) == {"members"}
    assert len({json.dumps(of_one.settings) for of_one in scores.values()}) == 1


def test_nothing_is_trained_twice(at_once, monkeypatch, steps_taken):
    before = tables_of(at_once / "chinese.json")
    shared = ["--folder", at_once / "build", "--out", at_once / "chinese.json"]
    # Also where there is no such device.
    call(monkeypatch, "--quick", *shared, "--against", "bpe,unigram", "--device", "cuda")
    assert not steps_taken and tables_of(at_once / "chinese.json") == before
    # Without text and models: from the scores alone.
    call(monkeypatch, "--out", at_once / "chinese.json")
    assert tables_of(at_once / "chinese.json") == before
    # Scores are lost, but models are not.
    for name in ("pruned", *chinese_recipes.ENSEMBLES):
        (at_once / "chinese" / f"{name}-seed0.json").unlink()
    call(monkeypatch, "--quick", *shared)
    assert not steps_taken and tables_of(at_once / "chinese.json") == before


@pytest.mark.parametrize(
    ("name", "kind"), [("complete-no-overriding", Trainer), ("pruned", Trainer), ("pcfg", GrammarTrainer)]
)
def test_stopped_training_goes_on(at_once, monkeypatch, tmp_path, steps_taken, name, kind):
    shared = ["--quick", "--folder", tmp_path / "build", "--out", tmp_path / "chinese.json", "--only", name]
    take_step = kind.take_step

    def killed_at_step_2(trainer):
        if trainer.step == 2:
            raise RuntimeError("killed")
        return take_step(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "take_step", killed_at_step_2)
        patch.setattr(chinese_models, "CHECKPOINT_SECONDS", 1e-9)
        with pytest.raises(RuntimeError, match="killed"):
            call(patch, *shared)
    assert steps_taken == [0, 1]
    call(monkeypatch, *shared)
    assert steps_taken == [0, 1, 2, 3]
    [table] = tables_of(tmp_path / "chinese.json")[:1]
    whole = tables_of(at_once / "chinese.json")[0]["grid"]
    column = whole[0].index("words of 2+")
    rows = [[row[0], row[1], row[column]] for row in whole if row[0] == TREES[name]]
    column = table["grid"][0].index("words of 2+")
    assert [[row[0], row[1], row[column]] for row in table["grid"] if row[0] == TREES[name]] == rows


class Clock:
    """A second passes whenever somebody looks at it."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 1
        return self.now


def test_seconds_of_stopped_training_count(monkeypatch, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(s.text + "\n" for s in read_sentences(chinese.SAMPLE).sentences), encoding="utf-8")
    settings = chinese_variants.Settings(longest=6, seconds=40)
    options = argparse.Namespace(quick=True, morphemes=400, sequences=1)
    variant = chinese_recipes.variants_of(options)["complete"]
    monkeypatch.setattr("treetok.model.training.trainer.time", Clock())
    monkeypatch.setattr(chinese_models, "CHECKPOINT_SECONDS", 1e-9)

    def trained(folder):
        return chinese_models.ChineseTraining([text], "", settings, folder, "cpu").train("complete", variant)

    whole = trained(tmp_path / "whole").figures
    assert 40 <= whole["seconds"] < 50 and 4 < whole["steps"] < 40
    take_step = Trainer.take_step

    def killed_at_step_4(trainer):
        if trainer.step == 4:
            raise RuntimeError("killed")
        return take_step(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "take_step", killed_at_step_4)
        with pytest.raises(RuntimeError, match="killed"):
            trained(tmp_path / "stopped")
    resumed = trained(tmp_path / "stopped").figures
    assert 40 <= resumed["seconds"] < 50
    assert abs(resumed["steps"] - whole["steps"]) <= 1


def test_wrong_options(at_once, monkeypatch, tmp_path):
    out = ["--out", tmp_path / "chinese.json"]
    gold, text = ["--test", chinese.SAMPLE], at_once / "build" / "sample.txt"
    latin = tmp_path / "latin.tsv"
    latin.write_bytes(b"na\xefve\tna\xefve\n")
    spaces, trailing, no_tab = (tmp_path / f"{name}.tsv" for name in ("spaces", "trailing", "no_tab"))
    spaces.write_text("他来了\t他 来 了\n他来了\t他  来 了\n", encoding="utf-8")
    trailing.write_text("他来了\t他 来 了 \n", encoding="utf-8")
    no_tab.write_text("他来了 他 来 了\n", encoding="utf-8")
    english = tmp_path / "english.txt"
    english.write_text("No Han characters.\n", encoding="utf-8")
    english_gold = tmp_path / "english.tsv"
    english_gold.write_text("one\tone\n", encoding="utf-8")
    bpe = tmp_path / "bpe" / "tokenizer.json"
    bpe.parent.mkdir()
    Tokenizer(models.BPE()).save(str(bpe))
    wordpiece = tmp_path / "wordpiece" / "tokenizer.json"
    wordpiece.parent.mkdir()
    wordpiece.write_bytes(bpe.read_bytes())
    train = [text, *gold, "--folder", tmp_path / "build", "--only", "complete"]
    for arguments, message in (
        ([], "nothing has been scored yet"),
        (["--quick"], "--quick needs a folder"),
        ([text, *gold], "--folder FOLDER"),
        ([text, "--folder", tmp_path], "--dev FILE, --test FILE"),
        ([text, *gold, "--only", "half"], "unknown model 'half' in --only"),
        ([*gold, "--against", "bpe"], "baselines need a text"),
        ([*train, "--against", "bpe,foo"], "unknown baseline 'foo' in --against"),
        ([*gold, "--dev", chinese.SAMPLE], "--dev and --test have the same name"),
        (["--test", latin], "latin.tsv, line 1: byte 0xef is not UTF-8"),
        (["--test", spaces], "spaces.tsv, line 2: a word is empty"),
        (["--test", trailing], "trailing.tsv, line 1: a word is empty"),
        (["--test", no_tab], "no_tab.tsv, line 1: there is no TAB"),
        ([*gold, "--only", "complete"], "--only names models to train, which needs a text"),
        ([*train[:-1], "none,complete"], "unknown model 'none' in --only: choose .*, or just none"),
        ([*train, "--longest", "1"], "--longest must be at least 2"),
        ([*train, "--morphemes", "2000000000"], "--morphemes must be from 1 to 1250000, not 2000000000"),
        ([*train, "--morphemes", "0"], "--morphemes must be from 1"),
        ([*train, "--sequences", "1" + 22 * "0"], "--sequences must be from 1 to 4096, not 1000"),
        ([*train, "--seed", "1" + 22 * "0"], "--seed must be from 0 to 4611686018427387903, not 1000"),
        ([*train, "--against", "bpe", "--vocab-size", "0"], "--vocab-size must be from 1 to"),
        ([*train, "--scores", tmp_path / "chinese.json"], "chinese.json is a folder of scores or models"),
        ([*train, "--model", "nosuch"], "nosuch"),
        ([*train, "--seconds", "-5", "--steps", "4"], "of which one is above 0"),
        ([*train, "--seconds", "nan", "--steps", "4"], "of which one is above 0"),
        ([*train, "--sequences", "0"], "--sequences must be from 1 to 4096, not 0"),
        ([english, *train[1:]], "english.txt: the text has no Han characters"),
        ([*train, "--seed", "-1"], "--seed must be from 0 to"),
        ([*train, "--scores", text], "is a file: scores are kept in a folder"),
        ([*train, "--scores", text / "deep"], "sample.txt is a file: scores are kept in a folder"),
        ([*train, "--only", " ,"], "--only names no model: choose complete,"),
        (
            [*train, "--folder", tmp_path / "chinese.json" / "build"],
            "chinese.json is a folder of scores or models",
        ),
        ([*train, "--out", tmp_path / "build" / "complete"], "complete is a folder of scores or models"),
        ([*train, "--scores", tmp_path / "s", "--out", tmp_path / "t" / ".." / "s"], "s is a folder of scores"),
        ([*gold, "--model", wordpiece], "a model cannot be called wordpiece, which"),
        (["--test", english_gold], "english.tsv has no Han characters"),
        ([*gold, "--model", bpe], "a model cannot be called bpe, which is a row of its own"),
    ):
        with pytest.raises(TreetokError, match=message):
            call(monkeypatch, *out, *arguments)
    few = ["--quick", text, "--morphemes", "20", "--folder", tmp_path / "few"]
    with pytest.raises(
        TreetokError, match=r"of 20 morphemes, none is longer than a character.*choose more --morphemes"
    ):
        call(monkeypatch, *out, *few)
    shared = ["--quick", "--folder", at_once / "build", "--out", at_once / "chinese.json"]
    with pytest.raises(TreetokError, match="is of another training: steps: 4 there"):
        call(monkeypatch, *shared, "--steps", "5")


def test_sentences_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "marked.tsv"
    path.write_text("\ufeff他来了\t他 来 了\n", encoding="utf-8")
    assert [sentence.words for sentence in read_sentences(path).sentences] == [("他", "来", "了")]


def test_two_gold_files_of_one_name_are_not_in_one_table(at_once, monkeypatch, tmp_path, steps_taken):
    """Nor are the scores replaced that were there before."""
    for path in (at_once / "chinese").glob("*.json"):
        (tmp_path / "chinese").mkdir(exist_ok=True)
        (tmp_path / "chinese" / path.name).write_bytes(path.read_bytes())
    other = tmp_path / chinese.SAMPLE.name
    lines = chinese.SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    other.write_text("".join(lines[:20]), encoding="utf-8")
    before = {path: path.read_bytes() for path in (tmp_path / "chinese").glob("*.json")}
    shared = ["--quick", "--folder", at_once / "build", "--out", tmp_path / "chinese.json"]
    for only in ("complete", "none"):
        with pytest.raises(
            TreetokError, match=r"-seed0\.json is of another chinese_sample than .*choose other --scores"
        ):
            call(monkeypatch, *shared, "--only", only, "--test", other)
    assert not steps_taken and before == {path: path.read_bytes() for path in before}
    assert not (tmp_path / "chinese" / "tokenizers").exists()
    call(monkeypatch, *shared)
    assert tables_of(tmp_path / "chinese.json")[0] == tables_of(at_once / "chinese.json")[0]
    # Of another origin.
    scores = json.loads((tmp_path / "chinese" / "pcfg-seed0.json").read_text(encoding="utf-8"))
    scores["gold"]["chinese_sample"]["sha256"] = "0"
    (tmp_path / "chinese" / "pcfg-seed0.json").write_text(json.dumps(scores), encoding="utf-8")
    with pytest.raises(TreetokError, match=r"\.json is of another chinese_sample than others beside it"):
        call(monkeypatch, "--out", tmp_path / "chinese.json")


def test_scores_that_disagree_on_the_sentences_are_named(at_once, monkeypatch, tmp_path):
    folder = tmp_path / "chinese"
    folder.mkdir()
    for name in ("complete", "balanced"):
        (folder / f"{name}-seed0.json").write_bytes((at_once / "chinese" / f"{name}-seed0.json").read_bytes())
    path = folder / "complete-seed0.json"
    whole = path.read_text(encoding="utf-8")
    gold = json.loads(whole)["gold"]["chinese_sample"]
    first, *others = gold["rows"]["MBR"]["all words"].split(" ")
    found, total = first.split("/")
    for change in (
        {"sentences": gold["sentences"] - 1},
        {"words": gold["words"] + 1},
        {
            "rows": gold["rows"]
            | {"MBR": gold["rows"]["MBR"] | {"all words": f"{found}/9{total} " + " ".join(others)}}
        },
        {
            "rows": gold["rows"]
            | {"MBR": gold["rows"]["MBR"] | {"all words": " ".join(["0/0"] * len([first, *others]))}}
        },
    ):
        scores = json.loads(whole) | {"gold": {"chinese_sample": gold | change}}
        path.write_text(json.dumps(scores), encoding="utf-8")
        with pytest.raises(
            TreetokError,
            match=r"complete-seed0\.json and \S+ disagree on chinese_sample|\S+ and complete-seed0\.json disagree",
        ):
            call(monkeypatch, "--out", tmp_path / "chinese.json")


DAMAGES = {
    "weak-links-pieces": [
        ("training", {}),
        ("own_settings.decoding", {}),
        ("gold.chinese_sample.words", None),
        ("gold.chinese_sample.role", None),
        ("gold.chinese_sample.sentences", "many"),
        ("gold.chinese_sample.rows", {}),
        ("own_settings.pieces.shortest_new_piece", None),
        ("own_settings.pieces", 5),
        ("gold.chinese_sample.rows", "x"),
        ("gold.chinese_sample.rows.MBR", {}),
        *(
            ("gold.chinese_sample.rows.MBR.all words", rows)
            for rows in ("", "a b", "1/2 3", "5/2", "nan/2", "-1/2", "1", "1/2/3")
        ),
    ],
    "weak-links": [
        ("training.stretches_seen", math.nan),
        ("gold.chinese_sample.role", "foo"),
        ("training.stretches_in_text", 0),
        ("training.seconds", "a"),
        ("training", {}),
        ("training.device", None),
        ("training.device", 3),
        ("training.steps", "many"),
        ("training.morphemes", []),
        ("own_settings.model", "x"),
        ("name", "complete"),
    ],
    "tokenizers/bpe": [
        ("training", {}),
        ("gold.chinese_sample.tokens", 0),
        ("gold.chinese_sample.tokens", "0"),
    ],
}


@pytest.mark.parametrize(
    ("name", "place", "value"), [(name, *damage) for name in DAMAGES for damage in DAMAGES[name]]
)
def test_damaged_scores_are_named(at_once, monkeypatch, tmp_path, name, place, value):
    path = tmp_path / "chinese" / f"{name}-seed0.json"
    path.parent.mkdir(parents=True)
    scores = json.loads((at_once / "chinese" / f"{name}-seed0.json").read_text(encoding="utf-8"))
    *outer, last = place.split(".")
    inside = scores
    for key in outer:
        inside = inside[key]
    inside[last] = value
    if last == "all words":
        # As many rows as there are sentences.
        inside[last] = " ".join([value] * scores["gold"]["chinese_sample"]["sentences"])
    elif value is None:
        del inside[last]
    path.write_text(json.dumps(scores), encoding="utf-8")
    with pytest.raises(TreetokError, match=rf"{path.name} (is damaged|has (the|no) scores of)"):
        call(monkeypatch, "--out", tmp_path / "chinese.json")


def test_other_settings_leave_scores_alone(at_once, monkeypatch, steps_taken):
    """What cannot stand beside the scores that are there is not trained at all."""
    before = {path: path.read_bytes() for path in (at_once / "chinese").glob("*.json")}
    shared = ["--quick", "--folder", at_once / "other", "--out", at_once / "chinese.json", "--steps", "5"]
    (at_once / "chinese" / "pcfg-seed0.json").unlink()
    with pytest.raises(
        TreetokError, match="is of another training: steps: 4 there, 5 here; choose other --scores"
    ):
        call(monkeypatch, *shared, "--only", "pcfg")
    assert not steps_taken
    for path, content in before.items():
        assert path.name == "pcfg-seed0.json" or path.read_bytes() == content
        path.write_bytes(content)


def test_scores_on_another_file_are_added(at_once, monkeypatch, tmp_path, steps_taken):
    lines = chinese.SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "half.tsv").write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    shared = ["--quick", "--folder", tmp_path / "build", "--out", tmp_path / "chinese.json", "--only", "pcfg"]
    call(monkeypatch, *shared, "--model", "en")
    taken = len(steps_taken)
    call(monkeypatch, *shared, "--model", "en", "--test", tmp_path / "half.tsv")
    assert taken and len(steps_taken) == taken
    for path in (tmp_path / "chinese").glob("**/*.json"):
        assert set(ModelScores.load(path).gold) == {"chinese_sample", "half"}
    # Another tokenizer of the same name is no such thing.
    path = tmp_path / "chinese" / "tokenizers" / "TreeTok en-seed0.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"tokenizer": "', '"tokenizer": "0'), encoding="utf-8"
    )
    call(monkeypatch, *shared, "--model", "en", "--test", tmp_path / "half.tsv")
    assert set(ModelScores.load(path).gold) == {"half"}


def test_tokenizers_in_folders_of_the_same_name(lossless, monkeypatch, tmp_path):
    for folder in ("one", "two"):
        lossless.save(tmp_path / folder / "zh")
    models = [part for folder in ("one", "two") for part in ("--model", tmp_path / folder / "zh")]
    call(monkeypatch, "--test", chinese.SAMPLE, *models, "--out", tmp_path / "chinese.json")
    names = [row[0] for row in tables_of(tmp_path / "chinese.json")[0]["grid"][1:]]
    assert sum("zh" in name for name in names) == 2


def test_a_longer_training_has_more_seconds():
    options = argparse.Namespace(quick=False, morphemes=400, sequences=1)
    variants = chinese_recipes.variants_of(options)
    settings = chinese_variants.Settings(seconds=10.0)
    limits = {name: variants[name].seconds(settings) for name in chinese_recipes.RECIPES}
    assert limits.pop("complete-no-overriding-longer") == 150.0
    assert {limits.pop(name) for name in chinese_recipes.ENSEMBLES["no-overriding-ensemble"]} == {110.0}
    for prefix, seconds in (("pruned-weak-links", 30.0), ("longer-weak-links", 140.0), ("weak-links", 60.0)):
        assert {limits.pop(name) for name in list(limits) if name.startswith(prefix)} == {seconds}
    assert set(limits.values()) == {10.0}
    assert variants["complete"].seconds(chinese_variants.Settings(seconds=0.0, steps=3)) == math.inf


def test_options_that_are_given_count_for_more_than_quick(tmp_path, monkeypatch):
    def parsed(*arguments):
        arguments = ["--quick", "--folder", str(tmp_path / "build"), "--out", str(tmp_path / "o.json"), *arguments]
        monkeypatch.setattr("sys.argv", [chinese.__file__, *arguments])
        return chinese.parsed_options()

    assert (parsed().longest, parsed().sequences, parsed().morphemes) == (8, 2, 600)
    given = parsed("--longest", "12", "--sequences", "3", "--morphemes", "300")
    assert (given.longest, given.sequences, given.morphemes, given.steps) == (12, 3, 300, 4)
    (tmp_path / "file").touch()
    with pytest.raises(TreetokError, match="it is a file, not a directory"):
        parsed("--folder", str(tmp_path / "file"))


def test_a_model_can_have_stretches_of_its_own_length(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("一二三四五六七八九十。" * 30 + "甲乙丙丁\n", encoding="utf-8")
    settings = chinese_variants.Settings(longest=9, seconds=0.0, steps=1)
    training = chinese_models.ChineseTraining([text], "", settings, tmp_path / "models", "cpu")
    options = argparse.Namespace(quick=True, morphemes=20, sequences=1)
    of_others = chinese_recipes.variants_of(options)["complete"]
    own = dataclasses.replace(of_others, longest=4)
    for name, variant, longest, parts in (("own", own, 4, 3), ("others", of_others, 9, 2)):
        assert variant.own_settings(settings)["model"]["max_word_length"] == longest
        figures = training.train(name, variant).figures
        assert figures["stretches_in_text"] == 30 * parts + 1


def test_what_is_wrong_with_other_scores_is_seen_before_any_model_is_trained(
    at_once, monkeypatch, tmp_path, steps_taken
):
    """Of a model that would come later, of sentences for another purpose, and of tokenizers."""
    (tmp_path / "chinese" / "tokenizers").mkdir(parents=True)
    for name in ("pcfg", "tokenizers/bpe"):
        path = f"chinese/{name}-seed0.json"
        (tmp_path / path).write_bytes((at_once / path).read_bytes())
    other = tmp_path / "other.tsv"
    other.write_text("山水\t山水\n", encoding="utf-8")
    shared = ["--quick", "--folder", tmp_path / "build", "--out", tmp_path / "chinese.json"]
    for arguments, message in (
        (["--only", "complete", "--dev", chinese.SAMPLE, "--test", other], "as test, not as dev: choose other"),
        (["--only", "complete", "--against", "bpe", "--vocab-size", "950"], "entries: 900 there, 950 here"),
        (["--only", "complete", "--model", "en-uncased"], "does not keep line feeds"),
        (["--only", "complete", "--against", "unigram", "--device", "gpu"], "unknown device 'gpu'"),
        (["--only", "none", "--steps", "5"], "steps: 4 there, 5 here"),
    ):
        with pytest.raises(TreetokError, match=message):
            call(monkeypatch, *shared, *arguments)
    scores = json.loads((tmp_path / "chinese" / "pcfg-seed0.json").read_text(encoding="utf-8"))
    scores["own_settings"]["grammar"]["rank"] += 1
    (tmp_path / "chinese" / "pcfg-seed0.json").write_text(json.dumps(scores), encoding="utf-8")
    with pytest.raises(TreetokError, match="grammar: rank: "):
        call(monkeypatch, *shared, "--only", "complete, pcfg")
    assert not steps_taken and not (tmp_path / "chinese.json").exists()
    assert not (tmp_path / "chinese" / "tokenizers" / "unigram-seed0.json").exists()


def test_shipped_scores_are_those_of_the_settings_here(tmp_path):
    """So that the documented command adds to them."""
    settings = chinese_variants.Settings(seconds=70.0)
    options = argparse.Namespace(quick=False, morphemes=20_000, sequences=None)
    shipped = {scores.name: scores for scores in load_scores(chinese.ROOT / "results" / "chinese")}
    for name, variant in chinese_recipes.variants_of(options).items():
        own = json.loads(json.dumps(variant.own_settings(settings)))
        assert shipped[name].own_settings == own, name


def test_scores_of_another_experiment_are_no_table(monkeypatch, tmp_path):
    results = chinese.ROOT / "results"
    for scores in (results / "pruned_models", results / "chinese" / "tokenizers"):
        with pytest.raises(
            TreetokError, match=r"^.+-seed0\.json has no model of this experiment: .* choose other --scores"
        ):
            call(monkeypatch, "--scores", scores, "--out", tmp_path / "chinese.json")
    assert not (tmp_path / "chinese.json").exists()
