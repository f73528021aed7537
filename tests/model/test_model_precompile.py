"""Every kernel that training, decoding and distillation use is compiled beforehand."""

import dataclasses

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("triton", reason="Triton is not installed")

from treetok.model import precompile, presets  # noqa: E402
from treetok.model.config import CompositionConfig, LanguageModelConfig, ModelConfig  # noqa: E402
from treetok.model.fused_decoding import FusedTrees  # noqa: E402
from treetok.model.kernels import (  # noqa: E402
    feed_forward,
    inside_scores,
    mbr_trees,
    morpheme_sums,
    word_attention,
)
from treetok.model.network.parser import ParserConfig  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = dataclasses.replace(
    presets.PRESETS["fast"],
    model=ModelConfig(
        CompositionConfig(dimension=16, heads=2, hidden=32, inside_layers=1), LanguageModelConfig(1, 2)
    ),
    parser=ParserConfig(dimension=32, heads=2, hidden=32, layers=1),
)


def test_all_kernels_are_compiled(monkeypatch):
    used = set()

    def spied(module, name):
        kernel = getattr(module, name)

        class Spy:
            def __getitem__(self, grid):
                used.add(name)
                return kernel[grid]

        monkeypatch.setattr(module, name, Spy())

    for module, name in (
        (feed_forward, "_feed_forward"),
        (feed_forward, "_feed_forward_backward"),
        (mbr_trees, "_add_log_probabilities"),
        (mbr_trees, "_best_trees"),
        (morpheme_sums, "_sum"),
        (morpheme_sums, "_sum_backward"),
        (word_attention, "_attend"),
        (word_attention, "_attend_backward"),
    ):
        spied(module, name)
    in_bits = []
    of_substrings = inside_scores.InsideScores.of_substrings

    def watched(self, *inputs):
        in_bits.append(self.embedding.dtype)
        return of_substrings(self, *inputs)

    monkeypatch.setattr(inside_scores.InsideScores, "of_substrings", watched)
    if DEVICE == "cpu":
        # As on a GPU, but in Triton's interpreter.
        monkeypatch.setattr(presets, "ensemble_trees", FusedTrees)
    precompile.precompile_kernels(SMALL, DEVICE)
    assert in_bits == [torch.float16, torch.float32]
    expected = {"_feed_forward", "_feed_forward_backward", "_add_log_probabilities", "_best_trees"}
    on_a_gpu = {"_sum", "_sum_backward", "_attend", "_attend_backward"}
    assert used == (expected | on_a_gpu if DEVICE == "cuda" else expected)
