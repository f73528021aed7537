"""Bits per byte of held-out text, at equal text and at equal numbers of floating-point operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpt_pretraining.runs import PretrainingRun
from treetok.evaluate.bootstrap import paired_test
from treetok.evaluate.metrics.measurement import Measurement, share_of_sums
from treetok.evaluate.report import stated_p

ALL, ALL_BUT_WIKITEXT = "all", "all but WikiText"
# WikiText has spaces before punctuation marks, which text that models are trained on has not.
WIKITEXT = "wiki."
# The same sentences without these spaces (`plain_wikitext.py`), which are not to be counted twice.
PLAIN = ".plain"
# The part of the curve, in shares of the text, to which a line is fitted: the learning rate is constant there.
FITTED = (0.35, 0.75)

# The sizes in bytes of the held-out documents, by text.
Sizes = Mapping[str, Sequence[int]]
Runs = Sequence[PretrainingRun]


def tables_of_runs(runs: Runs) -> dict[str, Runs]:
    """Runs to be compared, by the title of their tables: those of the same size of model and of vocabulary."""
    return {
        f"{size}, {entries} entries": chosen
        for size in dict.fromkeys(run.size for run in runs)
        for entries in sorted({rounded(run.entries) for run in runs})
        if (chosen := [run for run in runs if run.size == size and rounded(run.entries) == entries])
    }


def tables(runs: Runs) -> list[dict[str, Any]]:
    """For each size of model and of vocabulary: bits per byte, what they took, and how unlike training text the
    held-out text is."""
    grids = {
        "bits per byte of held-out text": grid_of_text,
        "what it took": grid_of_costs,
        "how unlike training text held-out text is": grid_of_mismatch,
    }
    return [
        {"title": f"{title}: {what}", "grid": grid_of(chosen)}
        for title, chosen in tables_of_runs(runs).items()
        for what, grid_of in grids.items()
    ]


def rounded(entries: int) -> int:
    """Without special tokens.

    >>> rounded(32002)
    32000
    """
    return round(entries, -3) if entries > 1000 else entries


def by_tokenizer(runs: Runs) -> dict[str, list[PretrainingRun]]:
    grouped: dict[str, list[PretrainingRun]] = {}
    for run in sorted(runs, key=lambda run: (not run.tokenizer.startswith("TreeTok"), run.tokenizer, run.seed)):
        grouped.setdefault(run.tokenizer, []).append(run)
    return grouped


def with_common_seeds(runs: Runs) -> Runs:
    """The runs of seeds that all tokenizers have: others saw the training text in another order, whose parts are
    not equally hard."""
    seeds = set.intersection(*({run.seed for run in of_one} for of_one in by_tokenizer(runs).values()))
    return [run for run in runs if run.seed in seeds] or runs


def grid_of_text(runs: Runs) -> list[list[str]]:
    """The mean over seeds; p-values against the first tokenizer, over documents."""
    sizes: Sizes = runs[0].settings["held_out_bytes"]
    counted = counted_once(sizes)
    texts = {text: [text] for text in sizes} | {ALL: counted}
    if 0 < len(others := [text for text in counted if not text.startswith(WIKITEXT)]) < len(counted):
        texts[ALL_BUT_WIKITEXT] = others
    grid = [["tokenizer", *texts, f"{ALL}, each seed"]]
    first: dict[str, Measurement] = {}
    for name, of_seeds in by_tokenizer(runs).items():
        row = [name]
        for column, some in texts.items():
            bits = measurement(of_seeds, some, sizes)
            p_value = f" ({stated_p(paired_test(bits, first[column]).p_value)})" if column in first else ""
            first.setdefault(column, bits)
            row.append(f"{bits.value:.4f}{p_value}")
        each = [f"{measurement([run], counted, sizes).value:.4f}" for run in of_seeds]
        grid.append([*row, ", ".join(each)])
    return grid


def counted_once(texts: Iterable[str]) -> list[str]:
    """Texts without those that are another spelling of a text among them.

    >>> counted_once(["news", "wiki.test", "wiki.test.plain"])
    ['news', 'wiki.test']
    >>> counted_once(["wiki.test.plain"])
    ['wiki.test.plain']
    """
    names = list(texts)
    return [name for name in names if name.removesuffix(PLAIN) == name or name.removesuffix(PLAIN) not in names]


def measurement(runs: Runs, texts: Sequence[str], sizes: Sizes) -> Measurement:
    """Bits and bytes of every document."""
    nats = np.mean([np.concatenate([run.nats[text] for text in texts]) for run in runs], axis=0)
    of_bytes = np.concatenate([sizes[text] for text in texts])
    return Measurement(np.stack([nats / np.log(2), of_bytes], axis=1), share_of_sums)


def grid_of_costs(runs: Runs) -> list[list[str]]:
    grouped = by_tokenizer(runs)
    at_equal_flops = bits_at_equal_flops(by_tokenizer(with_common_seeds(runs)))
    grid = [
        ["tokenizer", "parameters (M)", "tokens (M)", "steps", "operations (10^15)",
         "bits per byte of training text", "the same at equal operations", "seconds"]
    ]  # fmt: skip
    for name, of_seeds in grouped.items():
        figures = of_seeds[0].figures
        grid.append(
            [
                name,
                f"{figures['parameters'] / 1e6:.1f}",
                f"{figures['tokens'] / 1e6:.2f}",
                str(figures["steps"]),
                f"{figures['flops'] / 1e15:.2f}",
                *(f"{bits:.4f}" for bits in at_equal_flops[name]),
                ", ".join(f"{run.figures['seconds']:.0f}" for run in of_seeds),
            ]
        )
    return grid


def grid_of_mismatch(runs: Runs) -> list[list[str]]:
    """The frequencies of tokens alone, by text; they do not depend on the model."""
    grid = [["tokenizer", *runs[0].settings["held_out_bytes"]]]
    for name, of_seeds in by_tokenizer(runs).items():
        of_texts = of_seeds[0].figures["frequency_mismatch"]
        grid.append([name, *(f"{of_texts[text]:.4f}" for text in grid[0][1:])])
    return grid


def bits_at_equal_flops(grouped: Mapping[str, Runs]) -> dict[str, tuple[float, float]]:
    """Of every tokenizer, the bits per byte of the training text at the end of the fitted part of the curve, and
    where it has had as many operations as the cheapest has had there."""
    least = min(float(np.mean([run.figures["flops"] for run in runs])) for runs in grouped.values())
    found = {}
    for name, runs in grouped.items():
        share = least / float(np.mean([run.figures["flops"] for run in runs]))
        lines = [fitted_line(run) for run in runs]
        at_bytes, at_flops = (
            float(np.mean([slope * np.log(FITTED[1] * part) + height for slope, height in lines]))
            for part in (1.0, share)
        )
        found[name] = (at_bytes, at_flops)
    return found


def fitted_line(run: PretrainingRun) -> tuple[float, float]:
    """Slope and height of bits per byte over the logarithm of the share of the text seen."""
    share = np.array(run.curve.bytes_seen) / run.figures["bytes"]
    middle = (share + np.concatenate([[0], share[:-1]])) / 2
    chosen: npt.NDArray[np.bool_] = (middle >= FITTED[0]) & (middle <= FITTED[1])
    if np.count_nonzero(chosen) < 2:
        return 0.0, float(np.mean(run.curve.bits_per_byte))
    slope, height = np.polyfit(np.log(middle[chosen]), np.array(run.curve.bits_per_byte)[chosen], 1)
    return float(slope), float(height)


def notes(runs: Runs) -> dict[str, str]:
    described = {
        "held-out text": "every document is preceded by the one before it, and its end is counted; mean over"
        " seeds. p: paired permutation test over documents, against the first row, which does not count the chance"
        " in training",
        "how unlike training text": "the bits per byte that a model of single tokens loses by having the"
        " frequencies of the training text instead of those of the held-out text",
        "training text": "bits per byte before the model learned from it, by a line fitted to the curve between"
        f" {FITTED[0]:.0%} and {FITTED[1]:.0%} of the text, where the learning rate is constant, read off at"
        f" {FITTED[1]:.0%}; at equal operations: where the model has had as many floating-point operations as the"
        " cheapest of the table; of seeds that all tokenizers of the table have",
    }
    for size in dict.fromkeys(run.size for run in runs):
        of_size = [run for run in runs if run.size == size]
        first = of_size[0]
        network, training = first.settings["network"], first.settings["training"]
        seconds = sum(run.figures["seconds"] for run in of_size)
        described[size] = (
            f"{network['layers']} layers, {network['dimension']} dimensions, context of {network['context']}"
            f" tokens; {first.figures['bytes'] / 1e6:.0f} MB of text, seen once, {training['bytes_per_step']}"
            f" bytes a step, learning rate {training['learning_rate']:g}; {len(of_size)} models, {seconds:.0f} s"
            f" on {first.figures['device']}"
        )
    return described
