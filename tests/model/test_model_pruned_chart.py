"""Pruned charts against a simulation of the merges in plain Python, and training a parser with them."""

import dataclasses
import math
import random
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from synthetic import Language  # noqa: E402

from treetok import TreetokError  # noqa: E402
from treetok.corpus.word_ids import read_sequence  # noqa: E402
from treetok.model.charts.best_trees import best_tree_depths  # noqa: E402
from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.charts.passes import inside_pass, outside_pass, span_weights  # noqa: E402
from treetok.model.charts.pruned import PrunedCharts  # noqa: E402
from treetok.model.charts.pruned_cells import pruned_cells  # noqa: E402
from treetok.model.config import (  # noqa: E402
    CompositionConfig,
    LanguageModelConfig,
    ModelConfig,
    ObjectiveConfig,
)
from treetok.model.data.morpheme_vocabulary import MorphemeConfig, MorphemeVocabulary, find_morphemes  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.decoding import greedy_splits, rows_of_spans, split_depths_of, split_scores_by_width  # noqa: E402
from treetok.model.losses.joint_parser import MergeScores  # noqa: E402
from treetok.model.network.composition import CompositionModel  # noqa: E402
from treetok.model.network.functional import norm  # noqa: E402
from treetok.model.network.parser import ParserConfig  # noqa: E402
from treetok.model.training.build_trainer import ChartText, assemble_trainer  # noqa: E402
from treetok.model.training.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from treetok.model.training.trainer import TrainingConfig  # noqa: E402
from treetok.text import profile_named  # noqa: E402
from treetok.tree import LEAF, walk_spans  # noqa: E402

SIZES = CompositionConfig(dimension=8, heads=2, hidden=12, inside_layers=2)


def simulate(n, scores, m):
    """The cells of one word, as {(start, end): [splits]}."""
    cells = {}
    for start in range(n):
        for end in range(start + 2, min(start + m + 1, n) + 1):
            cells[start, end] = list(range(start + 1, end))
    blocks = [(letter, letter + 1) for letter in range(n)]
    in_order = sorted(range(n - 1), key=lambda split: (scores[split], split))
    while len(blocks) > m + 1:
        split = in_order.pop(0)
        left = next(block for block in blocks if block[1] == split + 1)
        right = next(block for block in blocks if block[0] == split + 1)
        merged = (left[0], right[1])
        blocks = sorted([block for block in blocks if block not in (left, right)] + [merged])
        for run in (blocks[first : first + m + 1] for first in range(len(blocks) - m)):
            if merged in run:
                span = (run[0][0], run[-1][1])
                assert span not in cells
                cells[span] = [start for start, _ in run[1:]]
    halves = {half for (i, j), places in cells.items() for k in places for half in ((i, k), (k, j))}
    return {span: places for span, places in cells.items() if span in halves or span == (0, n)}


def levels_of(cells):
    @cache
    def level(start, end):
        if end - start == 1:
            return 0
        return 1 + max(max(level(start, k), level(k, end)) for k in cells[start, end])

    return {span: level(*span) for span in cells}


def random_scores(rng, n):
    """Scores with and without ties, balanced and lopsided."""
    kind = rng.choice(["any", "any", "few", "rising", "falling", "same"])
    scores = [rng.choice([0.0, 1.0, 2.0]) if kind == "few" else rng.gauss(0, 1) for _ in range(n - 1)]
    return {"rising": sorted(scores), "falling": sorted(scores)[::-1], "same": [0.5] * (n - 1)}.get(kind, scores)


def padded(rows):
    """Rows of unequal length as a tensor, padded with garbage."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[random.gauss(0, 5)] * (longest - len(row))] for row in rows]).view(len(rows), -1)


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5])
def test_cells_equal_the_simulation(window):
    rng = random.Random(window)
    for _ in range(10):
        lengths = [rng.randint(1, 24) for _ in range(20)]
        scores = [random_scores(rng, n) for n in lengths]
        cells = pruned_cells(torch.tensor(lengths), padded(scores), window)
        got = [{} for _ in lengths]
        for word, bounds, splits, level in zip(*(t.tolist() for t in vars(cells).values()), strict=True):
            assert bounds[splits + 1 :] == bounds[-1:] * (window + 1 - splits)
            assert (bounds[0], bounds[-1]) not in got[word]
            got[word][bounds[0], bounds[-1]] = (bounds[1 : splits + 1], level)
            assert splits == min(level, window)
        for n, of_word, found in zip(lengths, scores, got, strict=True):
            expected = simulate(n, of_word, window)
            level = levels_of(expected)
            letters = {(i, i + 1): ([], 0) for i in range(n)}
            assert found == letters | {span: (places, level[span]) for span, places in expected.items()}


def test_nan_scores_still_make_a_chart():
    cells = pruned_cells(torch.tensor([5, 9]), torch.full((2, 8), torch.nan), 2)
    assert ((cells.start_C == 0) & (cells.end_C == torch.tensor([5, 9])[cells.word_C])).sum() == 2


def spans_of(plan):
    """(index of the word, start, end) of every row of the outside table."""
    columns = torch.stack([plan.word_of_outside, plan.start_of_outside, plan.end_of_outside], 1)
    return [tuple(row) for row in columns.tolist()]


class Case:
    """Words with shared substrings, a morpheme vocabulary, a model, and pruned and complete charts of a batch."""

    def __init__(self, seed, longest=14):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        self.window = rng.randint(1, 4)
        words = sorted({"".join(rng.choices("abc", k=rng.randint(1, longest))) for _ in range(rng.randint(1, 9))})
        strings = {word[i:j] for word in words for i in range(len(word)) for j in range(i + 2, len(word) + 1)}
        self.morphemes = MorphemeVocabulary("abc", [s for s in sorted(strings) if rng.random() < 0.4])
        self.model = CompositionModel(SIZES, len(self.morphemes)).double()
        table = tabulate_substrings(words)
        morpheme_ids = self.morphemes.ids(table.strings(words))
        of_all = [random_scores(rng, len(word)) for word in words]
        scores_NS = padded(of_all)
        batch = sorted(rng.sample(range(len(words)), rng.randint(1, len(words))), key=lambda w: -len(words[w]))
        charts = PrunedCharts(table, morpheme_ids, "cpu", self.window, lambda chosen: scores_NS[chosen])
        self.words = [words[number] for number in batch]
        self.scores = [of_all[number] for number in batch]
        self.plan = charts.plan(torch.tensor(batch))
        self.inside = inside_pass(self.model, self.plan)
        self.roots = torch.randn(len(batch), SIZES.dimension, dtype=torch.float64)

    def outside_rows(self):
        """{(index of the word, start, end): row of the outside table}"""
        rows = {span: row for row, span in enumerate(spans_of(self.plan))}
        assert len(rows) == len(self.plan.row_of_outside)
        return rows


class PrunedRecursion:
    """Vectors and weights of one word by recursion over its cells, straight from the equations."""

    def __init__(self, case, number):
        self.case, self.word, self.model = case, case.words[number], case.model
        self.root = case.roots[number]
        self.cells = simulate(len(self.word), case.scores[number], case.window)
        self.inside, self.outside, self.span_weight = map(cache, (self._inside, self._outside, self._span_weight))

    def _inside(self, start, end):
        embedding = self.model.embedding.weight[self.case.morphemes.id(self.word[start:end])]
        if end - start == 1:
            return norm(embedding), {}, {}
        scores, vectors = [], []
        for k in self.cells[start, end]:
            halves = self.inside(start, k)[0][None], self.inside(k, end)[0][None]
            score, vector = self.model.inside(*halves, embedding[None])
            scores.append(score)
            vectors.append(vector[0])
        weights = torch.cat(scores).softmax(0)
        places = self.cells[start, end]
        vector = (weights[:, None] * torch.stack(vectors)).sum(0)
        return vector, dict(zip(places, weights.tolist(), strict=True)), dict(zip(places, scores, strict=True))

    def parents(self, start, end):
        """(parent, sibling, side of the sibling, split)"""
        for (i, j), places in self.cells.items():
            if i == start and end in places:
                yield (i, j), (end, j), 0, end
            if j == end and start in places:
                yield (i, j), (i, start), 1, start

    def _outside(self, start, end):
        if (start, end) == (0, len(self.word)):
            return self.root
        scores, vectors = [], []
        for parent, sibling, side, _ in self.parents(start, end):
            around, beside = self.outside(*parent)[None], self.inside(*sibling)[0][None]
            score, vector = self.model.outside(around, beside, torch.tensor([side]))
            scores.append(score)
            vectors.append(vector[0])
        return (torch.cat(scores).softmax(0)[:, None] * torch.stack(vectors)).sum(0)

    def _span_weight(self, start, end):
        if (start, end) == (0, len(self.word)):
            return 1.0
        return sum(
            self.span_weight(*parent) * self.inside(*parent)[1][place]
            for parent, _, _, place in self.parents(start, end)
        )

    def depths(self):
        depths = [None] * (len(self.word) - 1)

        def walk(start, end, depth):
            if end - start > 1:
                scores = self.inside(start, end)[2]
                place = max(sorted(scores), key=lambda k: scores[k].item())
                depths[place - 1] = depth
                walk(start, place, depth + 1)
                walk(place, end, depth + 1)

        walk(0, len(self.word), 0)
        return depths


@pytest.mark.parametrize("seed", range(15))
def test_both_passes_equal_the_recursion(seed):
    case = Case(seed)
    plan = case.plan
    outside = outside_pass(case.model, plan, case.inside, case.roots)
    weights = span_weights(plan, case.inside)
    rows = case.outside_rows()
    depths = best_tree_depths(plan, case.inside)
    assert depths.shape == (len(case.words), max(map(len, case.words)) - 1)
    expected_rows = set()
    for number, word in enumerate(case.words):
        recursion = PrunedRecursion(case, number)
        for start, end in {*recursion.cells, *((i, i + 1) for i in range(len(word)))}:
            row = rows[number, start, end]
            expected_rows.add(row)
            inside = case.inside.vectors[plan.row_of_outside[row]]
            assert torch.allclose(inside, recursion.inside(start, end)[0], atol=1e-5)
            assert torch.allclose(outside[row], recursion.outside(start, end), atol=1e-5)
            assert weights[row].item() == pytest.approx(recursion.span_weight(start, end), abs=1e-5)
            assert plan.morpheme_of_row[plan.row_of_outside[row]] == case.morphemes.id(word[start:end])
        assert depths[number].tolist() == recursion.depths() + [0] * (depths.shape[1] - len(word) + 1)
    assert len(expected_rows) == len(rows)


@pytest.mark.parametrize("seed", range(10))
def test_span_weights_of_a_word_sum_to_the_number_of_nodes(seed):
    case = Case(seed, longest=24)
    sums = torch.zeros(len(case.words), dtype=torch.float64).index_add(
        0, case.plan.word_of_outside, span_weights(case.plan, case.inside)
    )
    assert sums.tolist() == pytest.approx([2 * len(word) - 1 for word in case.words], abs=1e-4)


@pytest.mark.parametrize("seed", range(10))
@torch.no_grad()
def test_charts_of_short_words_are_complete(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    window = rng.randint(1, 6)
    words = sorted({"".join(rng.choices("abc", k=rng.randint(1, window + 1))) for _ in range(8)})
    words.sort(key=len, reverse=True)
    table = tabulate_substrings(words)
    morpheme_ids = np.array([rng.choice([0, i % 30 + 2]) if i > 2 else i + 2 for i in range(len(table))])
    model = CompositionModel(SIZES, 40).double()
    roots = torch.randn(len(words), SIZES.dimension, dtype=torch.float64)
    chosen = torch.arange(len(words))
    pruned = PrunedCharts(table, morpheme_ids, "cpu", window, lambda w: torch.randn(len(w), window)).plan(chosen)
    complete = CompleteCharts(table, morpheme_ids, "cpu").plan(chosen)
    of_spans = []
    for plan in (pruned, complete):
        inside = inside_pass(model, plan)
        outside = outside_pass(model, plan, inside, roots)
        parts = [inside.vectors[plan.row_of_outside], outside, span_weights(plan, inside)[:, None]]
        of_spans.append(torch.cat(parts, 1))
    depth_by_depth = [
        (word, start, start + len(words[word]) - depth)
        for depth in range(max(map(len, words)))
        for word in range(len(words))
        for start in range(depth + 1)
        if depth < len(words[word])
    ]
    row_of = {span: row for row, span in enumerate(spans_of(pruned))}
    assert len(row_of) == len(depth_by_depth)
    assert torch.allclose(of_spans[0][[row_of[span] for span in depth_by_depth]], of_spans[1], atol=1e-5)
    depths = best_tree_depths(pruned, inside_pass(model, pruned)).tolist()
    scores = split_scores_by_width(model, complete, morph_overriding=True, own_morpheme=True)
    trees = []
    for number, word in enumerate(words):
        rows = rows_of_spans(table, np.array([number]), len(word), "cpu")
        best = greedy_splits(scores, rows, 1, len(word))
        trees.append(split_depths_of(best)[0])
    for row, tree in zip(depths, trees, strict=True):
        assert row[: len(tree)] == (-tree).tolist()


def test_ties_go_to_the_leftmost_split():
    case = Case(7)
    with torch.no_grad():
        case.model.inside.score.weight.zero_()
    depths = best_tree_depths(case.plan, inside_pass(case.model, case.plan))
    for number, word in enumerate(case.words):
        recursion = PrunedRecursion(case, number)
        assert depths[number, : len(word) - 1].tolist() == recursion.depths()


TEXT, _ = Language().text(400)
SEQUENCE = read_sequence([TEXT], profile_named("uncased"))
MORPHEMES = find_morphemes(SEQUENCE.counts(), MorphemeConfig(size=150))
TINY = CompositionConfig(dimension=16, heads=2, hidden=32, inside_layers=1)
TINY_PARSER = ParserConfig(dimension=16, heads=2, hidden=32, layers=1)


def make_trainer(settings, objective=None, parser_sizes=TINY_PARSER, window=2):
    config = ModelConfig(
        TINY, LanguageModelConfig(1, 2, 0.1), objective or ObjectiveConfig(), chart="pruned", window=window
    )
    return assemble_trainer(ChartText.of(SEQUENCE, config), config, settings, MORPHEMES, "cpu", parser_sizes)


def losses_of(trainer, steps):
    return [trainer.take_step().tolist() for _ in range(steps)]


SHORT = TrainingConfig(steps=8, sequences=4, words_per_sequence=8, warmup_steps=2, parser_learning_rate_factor=5.0)


def test_composition_model_and_parser_learn_together():
    settings = TrainingConfig(
        steps=100,
        sequences=6,
        words_per_sequence=24,
        learning_rate=4e-3,
        warmup_steps=10,
        parser_learning_rate_factor=2.0,
    )
    trainer = make_trainer(settings)
    losses = torch.tensor(losses_of(trainer, settings.steps))
    first, last = losses[:10].mean(0), losses[-10:].mean(0)
    assert (last[:3] < 0.8 * first[:3]).all()
    assert last[3] < 0.6 * first[3]


def test_the_parser_gets_gradients_from_its_own_loss_only():
    trainer = make_trainer(SHORT)
    learner = trainer.learner
    batch = trainer.maker.draw(0)
    losses = learner(batch)
    of_parser = [p for name, p in learner.named_parameters() if name.startswith("parser.")]
    others = [p for name, p in learner.named_parameters() if not name.startswith("parser.")]
    assert len(of_parser) > 10 and len(others) > 10
    without_parser = losses.character + losses.span + losses.next_word
    without = torch.autograd.grad(without_parser, of_parser, retain_graph=True, allow_unused=True)
    assert all(gradient is None for gradient in without)
    teacher = torch.autograd.grad(losses.parser, others, retain_graph=True, allow_unused=True)
    assert all(gradient is None for gradient in teacher)
    own = torch.autograd.grad(losses.parser, of_parser)
    assert sum(float(gradient.abs().sum()) for gradient in own) > 0
    assert losses.total.item() == pytest.approx(without_parser.item() + losses.parser.item())


def test_the_parser_loss_is_against_the_best_trees():
    trainer = make_trainer(SHORT, ObjectiveConfig(count_power=0.5))
    learner = trainer.learner.eval()
    batch = trainer.maker.draw(3)
    plan = batch.plan
    assert plan.longest > 4
    depths = best_tree_depths(plan, inside_pass(learner.composition, plan)).tolist()
    scores = learner.parser(learner.letters.take(plan.word_ids)).tolist()
    total = weights = 0.0
    for number, n in enumerate(plan.lengths_W.tolist()):
        count = batch.count_W[number].item() ** 0.5
        for start, end, split in walk_spans([-depth for depth in depths[number][: n - 1]]):
            if split != LEAF:
                inner = scores[number][start : end - 1]
                total += count * (math.log(sum(map(math.exp, inner))) - scores[number][split])
                weights += count
    assert learner(batch).parser.item() == pytest.approx(total / weights, abs=1e-4)


def test_plans_have_noise_in_training_only():
    trainer = make_trainer(SHORT)

    def cells_of_draw():
        return sorted(spans_of(trainer.maker.draw(0).plan))

    trainer.learner.eval()
    assert cells_of_draw() == cells_of_draw()
    trainer.learner.train()
    torch.manual_seed(0)
    one, other = cells_of_draw(), cells_of_draw()
    torch.manual_seed(0)
    assert cells_of_draw() == one != other


def test_on_a_gpu_the_parser_has_fused_operations():
    """Its scores are the same; in 16 bits, noise is added to them in 32. The interpreter of Triton multiplies no
    matrices of bfloat16, so that the two are looked at one by one."""
    word_attention = pytest.importorskip("treetok.model.kernels.word_attention").word_attention
    learner = make_trainer(SHORT, parser_sizes=ParserConfig(dimension=32, heads=2, hidden=32, layers=1)).learner
    parser, words = learner.parser, torch.arange(20)
    plain = parser(learner.letters.take(words))
    learner.use_gpu()
    operations = parser.operations
    assert operations.attention is word_attention and operations.precision is torch.bfloat16
    parser.operations = dataclasses.replace(operations, precision=None)
    exists = torch.arange(plain.shape[1]) < learner.letters.lengths_N[words, None] - 1
    assert torch.allclose(plain[exists], parser(learner.letters.take(words))[exists], atol=1e-5)
    parser.operations = dataclasses.replace(operations, attention=None)
    assert parser(learner.letters.take(words)).dtype is torch.bfloat16
    assert MergeScores(parser, learner.letters)(words).dtype is torch.float32


def test_the_parser_has_its_own_learning_rate():
    trainer = make_trainer(SHORT)
    trainer.take_step()
    rates = [group["lr"] for group in trainer.optimiser.param_groups]
    assert rates == [SHORT.learning_rate_at(0), 5 * SHORT.learning_rate_at(0)]
    sizes = [sum(p.numel() for p in group["params"]) for group in trainer.optimiser.param_groups]
    assert sizes[1] == sum(p.numel() for p in trainer.learner.parser.parameters())
    assert sum(sizes) == sum(p.numel() for p in trainer.learner.parameters())


@pytest.mark.parametrize("max_morpheme_length, context", [(8, True), (0, True), (8, False)])
def test_resuming_from_a_checkpoint_changes_nothing(tmp_path, max_morpheme_length, context):
    sizes = ParserConfig(dimension=16, heads=2, hidden=32, layers=1, max_morpheme_length=max_morpheme_length)
    uninterrupted = losses_of(make_trainer(SHORT, ObjectiveConfig(context), sizes), 8)
    trainer = make_trainer(SHORT, ObjectiveConfig(context), sizes)
    first = losses_of(trainer, 3)
    save_checkpoint(trainer, tmp_path)
    again = make_trainer(SHORT, ObjectiveConfig(context), sizes)
    torch.manual_seed(99)
    load_checkpoint(again, tmp_path)
    assert first + losses_of(again, 5) == uninterrupted


def test_validation_uses_the_charts_of_the_current_parser():
    settings = TrainingConfig(steps=4, sequences=2, words_per_sequence=8, warmup_steps=2, validation_share=0.05)
    trainer = make_trainer(settings)
    reports = []
    torch.manual_seed(5)
    assert trainer.run(reports.append, validate_every=2)
    assert [report.step for report in reports] == [2, 4]
    assert all(report.validation is not None and report.parser > 0 for report in reports)
    assert trainer.validate() == trainer.validate() == reports[-1].validation
    with torch.no_grad():
        trainer.learner.parser.pair_score.weight.neg_()
    assert trainer.validate() != reports[-1].validation


def test_unknown_charts_and_windows_are_refused():
    with pytest.raises(TreetokError, match="chart must be one of complete, pruned, not 'prunned'"):
        ModelConfig(chart="prunned")
    with pytest.raises(TreetokError, match="window must be at least 1, not 0"):
        ModelConfig(chart="pruned", window=0)


def test_a_plan_of_no_words_is_empty():
    table = tabulate_substrings(["ab"])
    charts = PrunedCharts(table, np.array([2, 3, 0]), "cpu", 2, lambda words: torch.zeros(len(words), 1))
    plan = charts.plan(torch.zeros(0, dtype=torch.int64))
    assert plan.words == plan.characters == len(plan.row_of_outside) == 0
