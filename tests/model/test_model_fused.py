"""The fused kernels equal the plain modules: vectors, weights, losses and all gradients.

Without a GPU they run in Triton's interpreter (tests/conftest.py).
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("triton", reason="Triton is not installed")

from treetok.model.batches.maker import BatchMaker  # noqa: E402
from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.charts.pruned import PrunedCharts  # noqa: E402
from treetok.model.config import (  # noqa: E402
    CompositionConfig,
    LanguageModelConfig,
    ModelConfig,
    ObjectiveConfig,
)
from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.kernels import can_be_fused  # noqa: E402
from treetok.model.kernels import cross_entropy as fused_cross_entropy  # noqa: E402
from treetok.model.losses.objectives import TreeLearner  # noqa: E402
from treetok.model.losses.plain_or_fused import PLAIN, cross_entropy, fused_operations  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FUSED = fused_operations()
WORDS = ["abacus", "babac", "abac", "cab", "us", "b"]
MORPHEMES = MorphemeVocabulary("abcus", ["ab", "ac", "aba", "us"])


def pruned_charts(table, morphemes):
    scores = torch.rand(len(WORDS), max(map(len, WORDS)) - 1, generator=torch.Generator().manual_seed(2))
    return PrunedCharts(table, morphemes, DEVICE, 2, lambda words: scores.to(DEVICE)[words])


def complete_charts(table, morphemes):
    return CompleteCharts(table, morphemes, DEVICE)


def learner_and_batch(objective, charts_of=complete_charts):
    table = tabulate_substrings(WORDS)
    charts = charts_of(table, MORPHEMES.ids(table.strings(WORDS)))
    word_ids = torch.randint(-1, len(WORDS), (40,), generator=torch.Generator().manual_seed(1)).int().numpy()
    batch = BatchMaker(word_ids, table.lengths, charts.plan, 3, 6, 0, DEVICE).draw(0)
    torch.manual_seed(0)
    sizes = CompositionConfig(dimension=16, heads=2, hidden=32, inside_layers=2)
    assert can_be_fused(sizes)
    config = ModelConfig(sizes, LanguageModelConfig(1, 2, max_sequence_length=8), objective)
    learner = TreeLearner(config, len(MORPHEMES))
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return learner.to(DEVICE), batch


def losses_and_gradients(learner, batch, operations):
    learner.zero_grad()
    learner.operations = operations
    losses = learner(batch)
    losses.total.backward()
    gradients = {name: p.grad.clone() for name, p in learner.named_parameters() if p.grad is not None}
    return torch.stack([losses.character, losses.span, losses.next_word]).detach(), gradients


@pytest.mark.parametrize("charts_of", [complete_charts, pruned_charts])
@pytest.mark.parametrize(
    "objective", [ObjectiveConfig(), ObjectiveConfig(morph_overriding=False, context=False)], ids=str
)
def test_losses_and_gradients_are_the_same(objective, charts_of):
    learner, batch = learner_and_batch(objective, charts_of)
    plain, plain_gradients = losses_and_gradients(learner, batch, PLAIN)
    fused, fused_gradients = losses_and_gradients(learner, batch, FUSED)
    assert torch.allclose(plain, fused, atol=1e-5)
    assert plain_gradients.keys() == fused_gradients.keys()
    for name, gradient in plain_gradients.items():
        assert torch.allclose(gradient, fused_gradients[name], rtol=1e-4, atol=1e-5), name


def test_cells_of_pruned_charts_have_different_numbers_of_parents():
    _, batch = learner_and_batch(ObjectiveConfig(), pruned_charts)
    assert any(len(level.pairs_of_cells.pairs_C.unique()) > 1 for level in batch.plan.outside_levels)


@pytest.mark.parametrize("charts_of", [complete_charts, pruned_charts])
def test_vectors_and_weights_are_the_same(charts_of):
    learner, batch = learner_and_batch(ObjectiveConfig(), charts_of)
    roots = torch.randn(batch.plan.words, 16, device=DEVICE)
    results = []
    for operations in (PLAIN, FUSED):
        inside = operations.inside_pass(learner.composition, batch.plan)
        outside = operations.outside_pass(learner.composition, batch.plan, inside, roots)
        results.append((inside.vectors, inside.split_weights, inside.split_scores, outside))
    for plain, fused in zip(*results, strict=True):
        assert torch.allclose(plain, fused, atol=1e-5)


def test_cross_entropy_with_and_without_excluded_classes():
    generator = torch.Generator(DEVICE).manual_seed(0)
    x, classes = (torch.randn(n, 16, device=DEVICE, generator=generator, requires_grad=True) for n in (7, 70))
    target = torch.randint(0, 70, (7,), device=DEVICE, generator=generator)
    excluded = torch.rand(70, device=DEVICE, generator=generator) < 0.3
    excluded[target] = False
    weights = torch.rand(7, device=DEVICE, generator=generator)
    for mask in (None, excluded):
        found = []
        for function in (cross_entropy, fused_cross_entropy):
            losses = function(x, classes, target, 0.3, mask)
            found.append((losses, *torch.autograd.grad((losses * weights).sum(), (x, classes))))
        for plain, fused in zip(*found, strict=True):
            assert torch.allclose(plain, fused, atol=1e-5)


def test_unsupported_sizes():
    assert can_be_fused(CompositionConfig())
    assert not can_be_fused(CompositionConfig(dimension=96, heads=3))
    assert not can_be_fused(CompositionConfig(dimension=8, heads=2))
