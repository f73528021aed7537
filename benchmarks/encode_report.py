"""What `encode.py` measured, as tables, notes and a chart."""

from __future__ import annotations

import importlib.util
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import treetok
from encoders import LIBRARIES, TASKS
from rival_vocabularies import version_of
from treetok.evaluate.plot import STYLE

# The libraries that TreeTok's speed is given as a multiple of.
MEASURES = ("hf-bpe", "tiktoken", "gigatoken")
OURS = ("treetok", "reference")


@dataclass
class TextFigures:
    """What was measured on one text; `clock` says which seconds make MB/s."""

    name: str
    lines: int
    megabytes: float
    clock: str = "wall"
    # Seconds of every round by library and task.
    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    processor_seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    # Lines with other ids than Hugging Face's, of the libraries with the same BPE.
    other_ids: dict[str, int] = field(default_factory=dict)
    # Tasks whose ids are not those of the lines one by one.
    differing: dict[str, list[str]] = field(default_factory=dict)

    def rates(self, library: str, task: str, clock: str | None = None) -> list[float]:
        """MB/s of every round; empty where the library has no such task."""
        seconds = self.processor_seconds if (clock or self.clock) == "processor" else self.seconds
        return [self.megabytes / of_round for of_round in seconds.get(library, {}).get(task, [])]

    def processor_share(self, library: str) -> float:
        """Processor time to time on the clock, in all tasks with one thread."""
        tasks = [task for task in self.seconds[library] if task in TASKS]
        used = sum(sum(self.processor_seconds[library][task]) for task in tasks)
        return used / sum(sum(self.seconds[library][task]) for task in tasks)


# ---- tables


def speed_grid(figures: TextFigures) -> list[list[str]]:
    grid = [["MB/s, best (median)", *TASKS.values(), "bytes per token"]]
    for name in figures.seconds:
        rates = [figures.rates(name, task) for task in TASKS]
        cells = [f"{max(of_task):.1f} ({statistics.median(of_task):.1f})" if of_task else "-" for of_task in rates]
        per_token = 1e6 * figures.megabytes / figures.tokens[name]
        grid.append([LIBRARIES[name].title, *cells, f"{per_token:.2f}"])
    return grid


def ratio_grid(figures: TextFigures) -> list[list[str]]:
    """How many times as fast TreeTok is, by the best rounds."""
    grid = [["times as fast as", *TASKS.values()]]
    for ours in OURS:
        for rival in MEASURES:
            cells = []
            for task in TASKS:
                rates, of_rival = figures.rates(ours, task), figures.rates(rival, task)
                cells.append(f"{max(rates) / max(of_rival):.3g}" if rates and of_rival else "-")
            if set(cells) != {"-"}:
                grid.append([f"{LIBRARIES[ours].title} : {LIBRARIES[rival].title}", *cells])
    return grid


def threads_grid(figures: TextFigures) -> list[list[str]]:
    grid = [["`encode_flat`, MB/s, best (median)", "1 thread", "2 threads", "ratio of the best"]]
    for name in OURS:
        # Two threads take more of the processors than one.
        one, two = (figures.rates(name, task, "wall") for task in ("flat", "two threads"))
        if one and two:
            cells = [f"{max(rates):.1f} ({statistics.median(rates):.1f})" for rates in (one, two)]
            grid.append([LIBRARIES[name].title, *cells, f"{max(two) / max(one):.2f}"])
    return grid


def first_touch_grid(touched: dict[str, dict[str, float]]) -> list[list[str]]:
    columns = {
        "whole process, s": "whole seconds",
        "CPU, s": "CPU seconds",
        "import, s": "import seconds",
        "load, s": "load seconds",
        "encode, s": "encode seconds",
    }
    grid = [["median", *columns, "memory of library and tokenizer, MB"]]
    for name, figures in touched.items():
        seconds = [f"{figures[what]:.3f}" for what in columns.values()]
        grid.append([LIBRARIES[name].title, *seconds, f"{figures['resident bytes'] / 1e6:.0f}"])
    return grid


def calls_grid(libraries: Sequence[str]) -> list[list[str]]:
    grid = [["call", *TASKS.values()]]
    for name in libraries:
        calls = LIBRARIES[name].calls
        grid.append([LIBRARIES[name].title, *(f"`{calls[task]}`" if task in calls else "-" for task in TASKS)])
    return grid


def notes_on(
    texts: Sequence[TextFigures], libraries: Sequence[str], missing: dict[str, str], vocabularies: str
) -> dict[str, str]:
    packages = list(dict.fromkeys(LIBRARIES[name].package for name in libraries))
    versions = {package: version_of(package) for package in packages} | {"treetok": treetok.__version__}
    notes = {
        "machine": f"{processor_name()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": ", ".join(f"{package} {versions[package]}" for package in packages),
        "vocabularies of the others": vocabularies,
        "missing": ", ".join(f"{LIBRARIES[name].title} ({why})" for name, why in missing.items()) or "none",
    }
    by_line = [LIBRARIES[name].title for name in libraries if LIBRARIES[name].first_touch == "line"]
    if by_line:
        notes["first touch"] = f"in one batch; line by line, which takes less time, with {'; '.join(by_line)}"
    for figures in texts:
        equal = [LIBRARIES[name].title for name, lines in figures.other_ids.items() if not lines]
        other = {LIBRARIES[name].title: lines for name, lines in figures.other_ids.items() if lines}
        if figures.other_ids:
            notes[f"ids on {figures.name}"] = (
                f"those of {LIBRARIES['hf-bpe'].title} in {'; '.join(equal) or 'none'};"
                f" others in {'; '.join(f'{title} ({lines} lines)' for title, lines in other.items()) or 'none'}"
            )
        for name, differing in figures.differing.items():
            where = f"{LIBRARIES[name].title} on {figures.name}"
            notes[f"other ids than line by line, {where}"] = ", ".join(differing)
        shares = {LIBRARIES[name].title: figures.processor_share(name) for name in figures.seconds}
        unusual = [f"{title} {share:.2f}" for title, share in shares.items() if not is_usual(share)]
        if unusual:
            notes[f"processor time to time on the clock, {figures.name}"] = (
                f"{'; '.join(unusual)} (above 1: threads; below: other programs had the processor)"
            )
    if "treetok" in libraries and importlib.util.find_spec("treetok._core") is None:
        notes["native core"] = "not built: both rows of treetok are plain Python"
    return notes


def is_usual(processor_share: float) -> bool:
    """Whether a library with one thread had a processor to itself; clocks are not exact."""
    return 0.95 <= processor_share <= 1.1


def processor_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


# ---- the chart


def draw(figures: TextFigures, target: Path) -> None:
    """Bars of the best MB/s on a logarithmic scale, by library and task."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # The fastest library at the top: bars are drawn from the bottom.
    names = sorted(figures.seconds, key=lambda name: max(figures.rates(name, "flat")))
    shown = ("line", "batch", "flat")
    height = 0.8 / len(shown)
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 0.5 * len(names) + 1.2), layout="constrained")
        axes = figure.subplots()
        for at, task in enumerate(shown):
            places = [place + (1 - at) * height for place in range(len(names))]
            rates = [max(figures.rates(name, task)) for name in names]
            bars = axes.barh(places, rates, height, label=TASKS[task])
            axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
        axes.set_yticks(range(len(names)), [LIBRARIES[name].title.replace("`", "") for name in names])
        axes.set_xscale("log")
        # Bars on a logarithmic scale have to begin somewhere.
        axes.set_xlim(left=min(1, *axes.get_xlim()))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel(f"MB/s on one thread ({figures.clock} time), {figures.name}, {figures.megabytes:.1f} MB")
        axes.legend(loc="lower right", frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, format="svg", metadata={"Date": None})
