import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from treetok.model.charts.complete import CompleteCharts  # noqa: E402
from treetok.model.charts.passes import inside_pass, outside_pass, span_weights  # noqa: E402
from treetok.model.config import CompositionConfig  # noqa: E402
from treetok.model.data.substrings import tabulate_substrings  # noqa: E402
from treetok.model.network.composition import CompositionModel  # noqa: E402
from treetok.model.reference_model import RecursiveModel  # noqa: E402

SIZES = CompositionConfig(dimension=8, heads=2, hidden=12, inside_layers=2)


def random_case(seed):
    """Words with shared substrings, a morpheme vocabulary, a model and the plan of a batch."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    words = sorted({"".join(rng.choices("abc", k=rng.randint(1, 7))) for _ in range(rng.randint(1, 8))})
    strings = {word[i:j] for word in words for i in range(len(word)) for j in range(i + 1, len(word) + 1)}
    chosen = sorted(s for s in strings if len(s) == 1 or rng.random() < 0.4)
    ids = {string: i for i, string in enumerate(chosen, start=2)}
    model = CompositionModel(SIZES, len(ids) + 2).double()
    table = tabulate_substrings(words)
    morphemes = np.array([ids.get(string, 0) for string in table.strings(words)])
    charts = CompleteCharts(table, morphemes, "cpu")
    batch = sorted(rng.sample(range(len(words)), rng.randint(1, len(words))), key=lambda w: -len(words[w]))
    plan = charts.plan(torch.tensor(batch))
    return [words[w] for w in batch], model, RecursiveModel(model, lambda s: ids.get(s, 0)), plan


def outside_rows(words):
    """(word, start, end) of every outside row, in order: by depth, then word by word."""
    spans = []
    for depth in range(max(map(len, words))):
        for number, word in enumerate(words):
            spans += [(number, i, i + len(word) - depth) for i in range(depth + 1) if depth < len(word)]
    return spans


@pytest.mark.parametrize("seed", range(25))
def test_charts_equal_the_recursion(seed):
    words, model, recursive, plan = random_case(seed)
    roots = torch.randn(len(words), SIZES.dimension, dtype=torch.float64)
    inside = inside_pass(model, plan)
    outside = outside_pass(model, plan, inside, roots)
    weights = span_weights(plan, inside)
    spans = outside_rows(words)
    assert len(spans) == len(outside) == len(weights) == len(plan.row_of_outside)
    for row, (number, start, end) in enumerate(spans):
        word = words[number]
        vector, _ = recursive.inside(word[start:end])
        assert plan.word_of_outside[row] == number
        assert torch.allclose(inside.vectors[plan.row_of_outside[row]], vector, atol=1e-5)
        assert torch.allclose(outside[row], recursive.outside(word, start, end, roots[number]), atol=1e-5)
        assert weights[row].item() == pytest.approx(recursive.span_weight(word, start, end), abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_span_weights_of_a_word_sum_to_the_number_of_nodes(seed):
    words, model, _, plan = random_case(seed)
    sums = torch.zeros(len(words), dtype=torch.float64).index_add(
        0, plan.word_of_outside, span_weights(plan, inside_pass(model, plan))
    )
    assert torch.allclose(
        sums, torch.tensor([2.0 * len(word) - 1 for word in words], dtype=torch.float64), atol=1e-4
    )


def test_morphemes_have_no_effect_without_overriding():
    _, model, _, plan = random_case(3)
    before = inside_pass(model, plan, morph_overriding=False).vectors
    assert not torch.allclose(before, inside_pass(model, plan).vectors)
    wide = plan.morpheme_of_row[plan.characters :]
    with torch.no_grad():
        model.embedding.weight[wide[wide > 0]] += 1
    assert torch.allclose(before, inside_pass(model, plan, morph_overriding=False).vectors)


def test_gradients_agree_with_finite_differences():
    words, model, _, plan = random_case(5)
    roots = torch.randn(len(words), SIZES.dimension, dtype=torch.float64)
    mix = torch.randn(len(plan.row_of_outside), SIZES.dimension, dtype=torch.float64)

    def loss():
        inside = inside_pass(model, plan)
        return (outside_pass(model, plan, inside, roots) * mix).sum() + (inside.vectors[plan.root_rows] ** 3).sum()

    loss().backward()
    rng = random.Random(0)
    checked = 0
    for name, parameter in model.named_parameters():
        if name == "root":
            continue
        flat = parameter.data.view(-1)
        for position in rng.sample(range(flat.numel()), min(3, flat.numel())):
            old, step = flat[position].item(), 1e-6
            flat[position] = old + step
            above = loss().item()
            flat[position] = old - step
            below = loss().item()
            flat[position] = old
            expected = (above - below) / (2 * step)
            assert parameter.grad.view(-1)[position].item() == pytest.approx(expected, rel=1e-3, abs=1e-6), name
            checked += 1
    assert checked > 50
