"""The parser: what it learns from, that padding changes nothing, that numpy does the same, and that it learns."""

import os
import random
import signal

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from treetok import TreetokError  # noqa: E402
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary  # noqa: E402
from treetok.model.distillation.data import depths_of_words, subtrees_of  # noqa: E402
from treetok.model.distillation.distil import distil, prepare_distillation, share_out  # noqa: E402
from treetok.model.distillation.pseudo_words import pseudo_words  # noqa: E402
from treetok.model.distillation.trainer import DistillationConfig  # noqa: E402
from treetok.model.losses.parser_loss import depths_of_splits, parser_loss  # noqa: E402
from treetok.model.network.parser import (  # noqa: E402
    Parser,
    ParserConfig,
    ParserTable,
    ends_of_morphemes,
    insides_of_morphemes,
    stored_parser,
)
from treetok.segment import Segmenter  # noqa: E402
from treetok.sources import CountTrees, ParserTrees, parser_layers  # noqa: E402
from treetok.sources.parser import FACTOR, MORPHEME_TABLES  # noqa: E402
from treetok.sources.parser_features import LetterFeatures  # noqa: E402
from treetok.sources.tree_agreement import segmentation_agreement, tree_agreement  # noqa: E402
from treetok.tree import LEAF, split_depths, walk_spans  # noqa: E402


def random_trees(rng, words, longest):
    """Teachers' trees as scores, padded depths with rubbish behind the end, and lengths."""
    lengths = [rng.randint(1, longest) for _ in range(words)]
    trees = [[rng.random() for _ in range(length - 1)] for length in lengths]
    depths = [split_depths(tree) + [rng.randint(-3, 9)] * (longest - len(tree) - 1) for tree in trees]
    return trees, torch.tensor(depths).view(words, longest - 1), torch.tensor(lengths)


@pytest.mark.parametrize("seed", range(20))
def test_the_loss_is_that_of_every_span_of_the_teachers_tree(seed):
    rng = random.Random(seed)
    trees, depths_WS, lengths_W = random_trees(rng, words=6, longest=rng.randint(2, 9))
    scores_WS = torch.randn(depths_WS.shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))
    weights_W = torch.rand(6, dtype=torch.double) if seed % 2 else torch.ones(6, dtype=torch.double)
    losses, weights = [], []
    for tree, scores, weight in zip(trees, scores_WS, weights_W, strict=True):
        for start, end, split in walk_spans(tree):
            if split != LEAF:
                log_shares = scores[start : end - 1].log_softmax(0)
                losses.append(-log_shares[split - start] * weight)
                weights.append(weight)
    expected = sum(losses) / sum(weights) if losses else torch.zeros((), dtype=torch.double)
    loss = parser_loss(scores_WS, depths_WS, lengths_W, weights_W if seed % 2 else None)
    torch.testing.assert_close(loss, expected)


def test_the_gradient_of_padding_is_nil_and_of_the_rest_finite():
    scores_WS = torch.randn(3, 4, requires_grad=True)
    with torch.no_grad():
        scores_WS[0, 2:] = float("inf")
    parser_loss(scores_WS, torch.tensor([[0, 1, 0, 0]] * 3), torch.tensor([3, 1, 2])).backward()
    assert scores_WS.grad[0, :2].abs().sum() > 0
    assert scores_WS.grad[0, 2:].tolist() == [0, 0]
    assert scores_WS.grad[1:].tolist() == [[0] * 4] * 2


def random_words(rng, how_many, longest=12):
    return ["".join(rng.choices("abcdeé", k=rng.randint(1, longest))) for _ in range(how_many)]


def random_vocabulary(rng, words):
    strings = {word[i : i + n] for word in words for i in range(len(word)) for n in (2, 3, 4, 9)}
    return MorphemeVocabulary("abcde", [s for s in sorted(strings) if len(s) > 1 and rng.random() < 0.4])


def test_the_table_knows_letters_and_morphemes():
    rng = random.Random(0)
    words = random_words(rng, 50)
    vocabulary = random_vocabulary(rng, words)
    sizes = ParserConfig(max_morpheme_length=4)
    table = ParserTable(words, vocabulary, sizes)
    known = LetterFeatures(vocabulary.characters, vocabulary.longer, 4).morphemes
    assert known == [m for m in vocabulary.longer if len(m) <= 4]
    batch = table.take(torch.tensor([7, 3, 49]))
    end_WLK, inside_WLI = ends_of_morphemes(batch.begin_WLK), insides_of_morphemes(batch.begin_WLK)
    for row, number in enumerate([7, 3, 49]):
        word = words[number]
        assert batch.lengths_W[row] == len(word)
        numbers = [vocabulary.id(letter) for letter in word]
        assert batch.letters_WL[row].tolist() == numbers + [0] * (table.widest - len(word))
        for at in range(table.widest):
            for length in (2, 3, 4):
                begins = word[at : at + length] if at + length <= len(word) else ""
                ends = word[at - length + 1 : at + 1] if length - 1 <= at < len(word) else ""
                for string, rows in ((begins, batch.begin_WLK), (ends, end_WLK)):
                    expected = known.index(string) + 1 if string in known else 0
                    assert rows[row, at, length - 2] == expected
            across = [word[i : i + n] for n in (3, 4) for i in range(max(at - n + 2, 0), at) if i + n <= len(word)]
            expected = sorted(known.index(string) + 1 for string in across if string in known)
            assert sorted(inside_WLI[row, at][inside_WLI[row, at] > 0].tolist()) == expected


@pytest.mark.parametrize("max_morpheme_length", [0, 8])
def test_neither_padding_nor_the_other_words_change_a_score(max_morpheme_length):
    rng = random.Random(1)
    torch.manual_seed(1)
    words = [*random_words(rng, 30), "a" * 40]
    vocabulary = random_vocabulary(rng, words)
    sizes = ParserConfig(16, 4, 24, 2, max_morpheme_length, max_position=6)
    parser = Parser(sizes, vocabulary)
    table = ParserTable(words, vocabulary, sizes)
    with torch.no_grad():
        together = parser(table.take(torch.arange(len(words))))
        assert together.shape == (31, 39)
        for number in (0, 5, 30):
            word = words[number]
            alone = parser(table.take(torch.tensor([number]), len(word)))
            assert alone.shape == (1, len(word) - 1)
            np.testing.assert_allclose(alone[0], together[number, : len(word) - 1], atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_depths_of_many_words_are_those_of_each(seed):
    rng = random.Random(seed)
    lengths = [rng.randint(1, 9) for _ in range(20)]
    # Few different scores: many ties.
    scores = [[rng.randint(-2, 2) for _ in range(8)] for _ in lengths]
    depths = depths_of_splits(torch.tensor(scores, dtype=torch.float), torch.tensor(lengths))
    for row, length, of_word in zip(depths.tolist(), lengths, scores, strict=True):
        assert row == split_depths(of_word[: length - 1]) + [0] * (9 - length)


# ---- the parser without PyTorch


@pytest.mark.parametrize("max_morpheme_length", [0, 2, 4, 20])
def test_numpy_gives_the_same_scores(max_morpheme_length, monkeypatch):
    rng = random.Random(2)
    torch.manual_seed(2)
    words = [*random_words(rng, 200), "b", "xyz", "é" * 30]
    vocabulary = random_vocabulary(rng, words)
    sizes = ParserConfig(24, 4, 40, 3, max_morpheme_length, max_position=7)
    parser = Parser(sizes, vocabulary)
    with torch.no_grad():
        for weight in parser.parameters():
            weight.copy_((weight + 0.1 * torch.randn_like(weight)).half())
        stored = stored_parser(parser, vocabulary)
        # What is stored of morphemes is rounded further.
        for table in MORPHEME_TABLES:
            if len(stored.weights[table]):
                rounded = stored.weights[table] * stored.weights[FACTOR.format(table)].astype(np.float32)
                weight = parser.get_parameter(table)
                assert (weight - torch.from_numpy(rounded)).abs().max() <= 0.52 * weight.abs().max() / 31
                weight.copy_(torch.from_numpy(rounded))
        from_torch = parser(ParserTable(words, vocabulary, sizes).take(torch.arange(len(words))))
    exact = np.concatenate([of_word[: len(word) - 1] for word, of_word in zip(words, from_torch, strict=True)])
    error = np.concatenate(stored.split_scores(words)) - exact
    # What remains is the rounding to integers: it vanishes where these are finer.
    assert np.sqrt(np.mean(error**2)) < 0.01 * exact.std()
    for limit in ("INPUT_LIMIT", "WEIGHT_LIMIT", "SOFTMAX_LIMIT", "VALUE_LIMIT"):
        monkeypatch.setattr(parser_layers, limit, getattr(parser_layers, limit) << 8)
    monkeypatch.setattr(parser_layers, "LARGEST_EXACT", parser_layers.LARGEST_EXACT << 16)
    finer = ParserTrees(stored.weights, stored.heads, stored.characters, stored.morphemes)
    np.testing.assert_allclose(np.concatenate(finer.split_scores(words)), exact, atol=1e-4)


# ---- learning


class SplitsAroundMorphemes:
    """A teacher that knows stems and endings: the first boundary is the highest split, letters are joined last
    to first. Over bare letters that is hard to learn: which strings are stems has no rule."""

    def __init__(self, parts):
        self.parts = parts

    def split_scores(self, words):
        scores = []
        for word in words:
            of_word, end = [-float(p) for p in range(len(word) - 1)], 0
            for number, part in enumerate(self.parts[word][:-1]):
                end += len(part)
                of_word[end - 1] = 10.0 - number
            scores.append(of_word)
        return scores


def words_of_stems(how_many):
    rng = random.Random(0)
    stems = ["".join(rng.choices("abcdefgh", k=rng.randint(2, 4))) for _ in range(60)]
    parts = {}
    while len(parts) < how_many:
        chosen = rng.choices(stems, k=rng.randint(1, 3))
        parts.setdefault("".join(chosen), chosen)
    return parts, MorphemeVocabulary("abcdefgh", stems)


PARTS, STEMS = words_of_stems(1500)
SMALL = ParserConfig(dimension=24, heads=4, hidden=48, layers=2, max_morpheme_length=4)
QUICK = DistillationConfig(epochs=12, batches_per_epoch=30, held_out=0.2, learning_rate=1e-2)


def test_it_learns_and_morphemes_help():
    teacher, counts = SplitsAroundMorphemes(PARTS), dict.fromkeys(PARTS, 1)
    reports = []
    distilled = distil(teacher, counts, STEMS, SMALL, QUICK, report=reports.append)
    assert reports[-1].loss < reports[0].loss
    plain = distil(teacher, counts, STEMS, ParserConfig(24, 4, 48, 2, max_morpheme_length=0), QUICK)
    assert distilled.unseen_words == plain.unseen_words
    assert distilled.agreement.words == len(distilled.unseen_words) > 100
    assert distilled.agreement.whole_tree > max(0.8, plain.agreement.whole_tree + 0.1)
    assert tree_agreement(distilled.parser, teacher, distilled.unseen_words) == distilled.agreement

    segmenter = Segmenter(dict.fromkeys([*"abcdefgh", *STEMS.longer], 5))
    alike = segmentation_agreement(distilled.parser, teacher, segmenter, distilled.unseen_words)
    assert distilled.agreement.whole_tree <= alike <= 1
    assert segmentation_agreement(teacher, teacher, segmenter, distilled.unseen_words) == 1


BRIEF = DistillationConfig(epochs=2, batches_per_epoch=10)


def test_the_same_seed_gives_the_same_parser():
    teacher, counts = CountTrees.from_words(dict.fromkeys(PARTS, 3)), dict.fromkeys(PARTS, 3)
    scores = dict(zip(PARTS, teacher.split_scores(list(PARTS)), strict=True))
    one = distil(teacher, counts, STEMS, SMALL, BRIEF).parser.arrays()
    other = distil(scores, dict(reversed(counts.items())), STEMS, SMALL, BRIEF).parser.arrays()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    different = distil(teacher, counts, STEMS, SMALL, DistillationConfig(2, batches_per_epoch=10, seed=1)).parser
    assert not np.array_equal(one["begin"], different.arrays()["begin"])


def test_words_to_learn_from_to_watch_and_to_measure_with_differ():
    for words in (3, 20, 1001):
        shares = share_out(words, DistillationConfig(held_out=0.1))
        assert sorted(np.concatenate(shares).tolist()) == list(range(words))
        assert [len(share) for share in shares[1:]] == [max(1, round(words * 0.05))] * 2


def test_subtrees_are_the_trees_a_teacher_that_looks_at_letters_alone_gives_them():
    words = sorted(PARTS)[:200]
    teacher = CountTrees.from_words(dict.fromkeys(words, 3))
    depths_NS = depths_of_words(teacher.split_scores(words), words, "cpu")
    chosen = np.arange(0, 200, 2)
    subtrees, depths_MS = subtrees_of(words, depths_NS, chosen)
    expected = set()
    for word in words[::2]:
        nodes = walk_spans(teacher.split_scores([word])[0])
        expected |= {word[start:end] for start, end, _ in nodes if end - start >= 3} - set(words)
    assert len(subtrees) == len(expected) > 50
    assert set(subtrees) == expected
    for scores, depths in zip(teacher.split_scores(subtrees), depths_MS.tolist(), strict=True):
        assert depths == split_depths(scores) + [0] * (depths_NS.shape[1] - len(scores))


def test_pseudo_words_are_learned_from_and_never_measured():
    words = sorted(PARTS)[:100]
    made = pseudo_words(words, 500)
    assert 50 < len(set(made)) == len(made) <= 500
    assert not set(made) & set(words)
    assert made == pseudo_words(words, 500)
    fives = {f"<<<<{word}>"[at : at + 5] for word in words for at in range(len(word) + 1)}
    assert all({f"<<<<{string}>"[at : at + 5] for at in range(len(string) + 1)} <= fives for string in made)
    assert max(map(len, made)) <= max(map(len, words))
    assert pseudo_words(["a", "b"], 5) == pseudo_words([], 5) == []
    # The end of a line is a word of its own in some profiles.
    assert pseudo_words([*words, "\n", "\n\n"], 500) == made
    teacher = CountTrees.from_words(dict.fromkeys(words, 3))
    pseudo_trees = dict(zip(made, teacher.split_scores(made), strict=True))
    with_them = distil(teacher, dict.fromkeys(words, 1), STEMS, SMALL, BRIEF, pseudo_trees=pseudo_trees)
    without = distil(teacher, dict.fromkeys(words, 1), STEMS, SMALL, BRIEF)
    assert with_them.unseen_words == without.unseen_words
    assert set(with_them.unseen_words) <= set(words)
    assert not np.array_equal(with_them.parser.weights["begin"], without.parser.weights["begin"])


def test_time_is_limited():
    reports = []
    config = DistillationConfig(epochs=1000, patience=1000)
    teacher = CountTrees.from_words({})
    for seconds in (1.0, 1e-6):
        distillation = prepare_distillation(teacher, dict.fromkeys(PARTS, 1), STEMS, SMALL, config)
        distillation.trainer.seconds = seconds
        assert distillation.trainer.run(reports.append)
        assert distillation.trainer.seconds_spent < 10
        assert 0 <= distillation.result().agreement.whole_tree <= 1


def arrays_of(distillation):
    return {name: array.tobytes() for name, array in distillation.result().parser.arrays().items()}


def prepared():
    teacher = SplitsAroundMorphemes(PARTS)
    config = DistillationConfig(epochs=4, batches_per_epoch=10, patience=2, dropout=0.3)
    return prepare_distillation(teacher, dict.fromkeys(PARTS, 1), STEMS, SMALL, config)


@pytest.mark.parametrize("stops", [[1], [3, 10, 11], [20, 25]])
def test_continuing_a_distillation_from_checkpoints_changes_nothing(tmp_path, stops):
    whole = prepared()
    reports = []
    assert whole.trainer.run(reports.append)
    again = []
    for stop in stops:
        part = prepared()
        if (tmp_path / "checkpoint.json").exists():
            part.trainer.load(tmp_path, "teacher")

        def interrupt(step, stop=stop):
            if step == stop:
                os.kill(os.getpid(), signal.SIGTERM)

        save = lambda trainer: trainer.save(tmp_path, "teacher")  # noqa: E731
        assert not part.trainer.run(again.append, save, step_taken=interrupt)
        assert part.trainer.step == stop
    last = prepared()
    last.trainer.load(tmp_path, "teacher")
    assert last.trainer.step == stops[-1]
    assert last.trainer.run(again.append)
    assert arrays_of(last) == arrays_of(whole)
    assert [(r.epoch, r.agreement) for r in again] == [(r.epoch, r.agreement) for r in reports]
    assert [r.loss for r in again] == pytest.approx([r.loss for r in reports])
    with pytest.raises(TreetokError, match="of another run: teacher: teacher there, another here"):
        prepared().trainer.load(tmp_path, "another")


@pytest.mark.parametrize(
    ("teacher", "words", "message"),
    [
        (CountTrees.from_words({}), {"ab": 1, "abc": 1}, "1 words of 3 letters or more are too few"),
        ({"abc": [1, 2], "abd": [1], "abe": [1, 2]}, {"abc": 1, "abd": 1, "abe": 1}, "no score for each split"),
        (
            {"abc": [1, np.nan], "abd": [1, 2], "abe": [1, 2]},
            {"abc": 1, "abd": 1, "abe": 1},
            "not a finite number",
        ),
    ],
)
def test_nothing_to_learn_from(teacher, words, message):
    with pytest.raises(TreetokError, match=message):
        distil(teacher, words, STEMS, SMALL, BRIEF)


def test_sizes_that_make_no_sense():
    with pytest.raises(TreetokError, match="3 heads do not divide 64 dimensions"):
        ParserConfig(heads=3)
    with pytest.raises(TreetokError, match="at least 1"):
        ParserConfig(layers=0)


def test_words_are_shared_out_and_bounded():
    learned, watched, measured = share_out(1000, DistillationConfig(max_words=50))
    assert (len(learned), len(watched), len(measured)) == (50, 25, 25)
    assert len({*learned.tolist(), *watched.tolist(), *measured.tolist()}) == 100
    again = share_out(1000, DistillationConfig(max_words=50))
    assert all(np.array_equal(one, other) for one, other in zip((learned, watched, measured), again, strict=True))
