"""Padding a batch changes neither its losses nor their gradients."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")

from test_model_objectives import make  # noqa: E402

from treetok.model.batches.padding import capacity_for, pad_batch, shape_of  # noqa: E402
from treetok.model.config import ObjectiveConfig  # noqa: E402


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "objective", [ObjectiveConfig(), ObjectiveConfig(context=False, count_power=0.5)], ids=["all", "alone"]
)
def test_losses_and_gradients_are_the_same(seed, objective):
    _, maker, learner, _, _ = make(seed, objective)
    batches = [maker.draw(step) for step in range(4)]
    capacity = capacity_for(map(shape_of, batches), multiple=8)
    for batch in batches:
        assert shape_of(batch).fits(capacity)
        results = []
        for version in (batch, pad_batch(batch, capacity)):
            learner.zero_grad()
            losses = learner(version)
            losses.total.backward()
            gradients = [p.grad.clone() for p in learner.parameters() if p.grad is not None]
            results.append(([losses.character, losses.span, losses.next_word], gradients))
        for exact, padded in zip(results[0][0], results[1][0], strict=True):
            assert torch.allclose(exact, padded, atol=1e-9)
        for exact, padded in zip(results[0][1], results[1][1], strict=True):
            assert torch.allclose(exact, padded, atol=1e-9)


def test_padded_batches_have_the_shape_of_the_capacity():
    _, maker, *_ = make(0, ObjectiveConfig())
    batches = [maker.draw(step) for step in range(6)]
    capacity = capacity_for(map(shape_of, batches), multiple=8)
    assert all(shape_of(pad_batch(batch, capacity)) == capacity for batch in batches)


def test_a_batch_that_is_too_large_does_not_fit():
    _, maker, *_ = make(0, ObjectiveConfig())
    shapes = [shape_of(maker.draw(step)) for step in range(8)]
    assert shapes[0].fits(shapes[0])
    assert not all(one.fits(other) for one in shapes for other in shapes)
