"""Words of Chinese: metrics against plain counting over positions, and the command on tiny models."""

import dataclasses
import itertools
import json
import math
import random
import unicodedata
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("tokenizers")

import chinese  # noqa: E402
import chinese_models  # noqa: E402
from chinese_tables import TREES  # noqa: E402
from han_text import GoldSentence, cut, read_sentences, running_stretches, stretches  # noqa: E402
from model_scores import ModelScores  # noqa: E402
from neural_pcfg.training import Trainer as GrammarTrainer  # noqa: E402
from treetok import TreetokError  # noqa: E402
from treetok.evaluate.baselines.subword import train_baseline  # noqa: E402
from treetok.evaluate.load_tokenizer import load_tokenizer  # noqa: E402
from treetok.evaluate.tree_sources import LeftBranching, Random, RightBranching  # noqa: E402
from treetok.model.training.trainer import Trainer  # noqa: E402
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
        parts = list(cut(stretch, longest))
        assert "".join(parts) == stretch and len(parts) == -(-length // longest)
        lengths = [len(part) for part in parts]
        assert max(lengths) <= longest and max(lengths) - min(lengths) <= 1


def test_running_stretches():
    texts = ["山水，火木人。", "山水2山水", "，"]
    sequence = running_stretches(texts, longest=2)
    assert [sequence.words[number] for number in sequence.numbers] == ["山水", "火木", "人", "山水", "山水"]
    assert sequence.counts() == {"山水": 3, "火木": 1, "人": 1}


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
    mean = read_rows(chinese.mean_rows(several)[LONGER_WORDS])
    pooled = [pooled_recall(np.array(rows[LONGER_WORDS], dtype=float)).value for rows in several]
    assert len(set(pooled)) > 1
    assert pooled_recall(mean).value == pytest.approx(np.mean(pooled))


def test_rows_as_text():
    rows = [[0, 0], [3, 17], [2.5, 4]]
    assert read_rows(written_rows(rows)).tolist() == rows


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
        assert chinese.tokens_by(baseline)(sentence) == baseline.tokenize(sentence.text)
    # TreeTok, with characters that it does not know.
    tokens = chinese.tokens_by(load_tokenizer("en"))(GoldSentence("山水walking", ("山水", "walking")))
    assert tokens == ["山", "水", "walking"]
    with pytest.raises(TreetokError, match="should be of the profile lossless"):
        chinese.tokens_by(load_tokenizer("en-uncased"))(sentences[0])


# ---- the command


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
    assert [row[1] for row in rows[:13]] == [*["greedy", "MBR"] * 6, "MBR"]
    # Greedy, with MorphOverriding and without.
    assert rows[0][2:] != rows[2][2:] and rows[6][2:-1] != rows[8][2:-1]
    by_name = {row[0]: dict(zip(heading, row, strict=True)) for row in rows}
    assert by_name["neural PCFG"]["paper"] == "74.26"
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
    assert "pruned charts" in notes["training"] and "passes" in notes["training"] and notes["device"] == "CPU"


def test_scores_have_no_text(at_once):
    for path in at_once.glob("chinese/**/*.json"):
        assert not any(map(is_han, path.read_text(encoding="utf-8")))


def test_models_differ_in_what_they_are_named_for(at_once):
    scores = {path.name: ModelScores.load(path) for path in (at_once / "chinese").glob("*.json")}
    complete, pruned = (scores[f"{chart}-seed0.json"].own_settings for chart in ("complete", "pruned"))
    for chart, full in (("complete", complete), ("pruned", pruned)):
        without = scores[f"{chart}-no-overriding-seed0.json"].own_settings
        assert without["model"]["objective"] == full["model"]["objective"] | {"morph_overriding": False}
        assert {**without["model"], "objective": None} == {**full["model"], "objective": None}
        assert without["training"] == full["training"] and without["morphemes"] == full["morphemes"]
    assert pruned["model"] == complete["model"] | {"chart": "pruned"}
    for chart in ("complete", "pruned"):
        shorter, longer = (scores[f"{chart}-no-overriding{end}-seed0.json"] for end in ("", "-longer"))
        assert (shorter.training["steps"], longer.training["steps"]) == (4, 4 * chinese.LONGER)
        # Stretches of the sample are shorter than those of either model.
        assert longer.own_settings["model"] == shorter.own_settings["model"]
    assert len({json.dumps(of_one.settings) for of_one in scores.values()}) == 1


def test_nothing_is_trained_twice(at_once, monkeypatch, steps_taken):
    before = tables_of(at_once / "chinese.json")
    shared = ["--folder", at_once / "build", "--out", at_once / "chinese.json"]
    call(monkeypatch, "--quick", *shared, "--against", "bpe,unigram")
    assert not steps_taken and tables_of(at_once / "chinese.json") == before
    # Without text and models: from the scores alone.
    call(monkeypatch, "--out", at_once / "chinese.json")
    assert tables_of(at_once / "chinese.json") == before
    # Scores are lost, but models are not.
    (at_once / "chinese" / "pruned-seed0.json").unlink()
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
    settings = chinese_models.Settings(longest=6, seconds=40)
    options = chinese.argparse.Namespace(quick=True, morphemes=400, sequences=1)
    variant = chinese.variants_of(options)["complete"]
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
    train = [text, *gold, "--folder", tmp_path / "build", "--only", "complete"]
    for arguments, message in (
        ([], "nothing has been scored yet"),
        (["--quick"], "--quick needs a folder"),
        ([text, *gold], "--folder FOLDER"),
        ([text, "--folder", tmp_path], "--dev FILE, --test FILE"),
        ([text, *gold, "--only", "half"], "unknown model 'half' in --only"),
        ([*gold, "--against", "bpe"], "baselines need a text"),
        ([*gold, "--dev", chinese.SAMPLE], "--dev and --test have the same name"),
        (["--test", latin], "latin.tsv, line 1: byte 0xef is not UTF-8"),
        ([*train, "--seconds", "-5", "--steps", "4"], "seconds or steps above 0"),
        ([*train, "--seconds", "nan", "--steps", "4"], "seconds or steps above 0"),
        ([*train, "--seed", "-1"], "--seed must be 0 or more"),
        ([*train, "--scores", text], "is a file: scores are kept in a folder"),
    ):
        with pytest.raises(TreetokError, match=message):
            call(monkeypatch, *out, *arguments)
    few = ["--quick", text, "--morphemes", "20", "--folder", tmp_path / "few"]
    with pytest.raises(TreetokError, match="of 20 morphemes, none is longer than a character"):
        call(monkeypatch, *out, *few)
    shared = ["--quick", "--folder", at_once / "build", "--out", at_once / "chinese.json"]
    with pytest.raises(TreetokError, match="is of another training: steps: 4 there"):
        call(monkeypatch, *shared, "--steps", "5")


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
    options = chinese.argparse.Namespace(quick=True, morphemes=400, sequences=1)
    variants = chinese.variants_of(options)
    limits = {
        name: variants[name].seconds(chinese_models.Settings(seconds=10.0)) for name in chinese.COMPOSITION_MODELS
    }
    for chart in ("complete", "pruned"):
        assert limits.pop(f"{chart}-no-overriding-longer") == 10.0 * chinese.LONGER
    assert set(limits.values()) == {10.0}
    assert variants["complete"].seconds(chinese_models.Settings(seconds=0.0, steps=3)) == math.inf


def test_options_that_are_given_count_for_more_than_quick(tmp_path, monkeypatch):
    def parsed(*arguments):
        arguments = ["--quick", "--folder", str(tmp_path / "build"), "--out", str(tmp_path / "o.json"), *arguments]
        monkeypatch.setattr("sys.argv", [chinese.__file__, *arguments])
        return chinese.parsed_options()

    assert (parsed().longest, parsed().sequences, parsed().morphemes) == (8, 2, 400)
    given = parsed("--longest", "12", "--sequences", "3", "--morphemes", "300")
    assert (given.longest, given.sequences, given.morphemes, given.steps) == (12, 3, 300, 4)
    (tmp_path / "file").touch()
    with pytest.raises(TreetokError, match="it is a file, not a directory"):
        parsed("--folder", str(tmp_path / "file"))


def test_a_model_can_have_stretches_of_its_own_length(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("一二三四五六七八九十。" * 30 + "甲乙丙丁\n", encoding="utf-8")
    settings = chinese_models.Settings(longest=9, seconds=0.0, steps=1)
    training = chinese_models.ChineseTraining([text], "", settings, tmp_path / "models", "cpu")
    options = chinese.argparse.Namespace(quick=True, morphemes=20, sequences=1)
    of_others = chinese.variants_of(options)["complete"]
    own = dataclasses.replace(of_others, longest=4)
    for name, variant, longest, parts in (("own", own, 4, 3), ("others", of_others, 9, 2)):
        assert variant.own_settings(settings)["model"]["max_word_length"] == longest
        figures = training.train(name, variant).figures
        assert figures["stretches_in_text"] == 30 * parts + 1
