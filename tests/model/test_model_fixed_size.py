"""A batch that is filled up to a fixed size means the same."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'treetok[train]'")

from test_model_objectives import make  # noqa: E402

from treetok.model.config import ObjectiveConfig  # noqa: E402
from treetok.model.data.padding import enough_for, fits, pad_batch, sizes_of  # noqa: E402


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "objective", [ObjectiveConfig(), ObjectiveConfig(context=False, count_power=0.5)], ids=["all", "alone"]
)
def test_losses_and_gradients_are_the_same(seed, objective):
    _, maker, learner, _, _ = make(seed, objective)
    batches = [maker.draw(step) for step in range(4)]
    room = enough_for(map(sizes_of, batches), multiple=8)
    for batch in batches:
        assert fits(sizes_of(batch), room)
        results = []
        for version in (batch, pad_batch(batch, room)):
            learner.zero_grad()
            losses = learner(version)
            losses.total.backward()
            gradients = [p.grad.clone() for p in learner.parameters() if p.grad is not None]
            results.append(([losses.character, losses.span, losses.next_word], gradients))
        for exact, padded in zip(results[0][0], results[1][0], strict=True):
            assert torch.allclose(exact, padded, atol=1e-9)
        for exact, padded in zip(results[0][1], results[1][1], strict=True):
            assert torch.allclose(exact, padded, atol=1e-9)


def test_all_batches_have_the_shapes_of_the_room():
    _, maker, *_ = make(0, ObjectiveConfig())
    batches = [maker.draw(step) for step in range(6)]
    room = enough_for(map(sizes_of, batches), multiple=8)
    assert all(sizes_of(pad_batch(batch, room)) == room for batch in batches)


def test_a_batch_that_is_too_large_does_not_fit():
    _, maker, *_ = make(0, ObjectiveConfig())
    sizes = [sizes_of(maker.draw(step)) for step in range(8)]
    assert fits(sizes[0], sizes[0])
    assert not all(fits(one, other) for one in sizes for other in sizes)
