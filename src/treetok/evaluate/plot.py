"""A chart of a comparison: compression against boundary F1, one point per tokenizer."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

from treetok.errors import TreetokError
from treetok.evaluate.compare import Comparison, Table
from treetok.install_hint import install_hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# In inches; the legend needs about so much for each character of the longest name.
PANEL_SIZE = (4.4, 3.8)
LEGEND_MARGIN, LEGEND_CHARACTER = 0.5, 0.085
# Text stays text, names are never read as formulas, and ids in the file do not change from run to run.
STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "treetok", "text.parse_math": False}


def check_matplotlib() -> None:
    """Fail early where charts cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise TreetokError(f"charts need matplotlib: {install_hint('eval')}") from None


def svg_chart(comparison: Comparison) -> str:
    """Tokens per word on the first text against boundary F1 with its interval: one panel per gold file, as SVG.
    The same comparison gives the same file."""
    text = next((table for table in comparison.tables if table.kind == "text"), None)
    gold = [table for table in comparison.tables if table.kind == "segmentation"]
    if text is None or not gold:
        raise TreetokError("a chart needs a gold file and a text")
    check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        names = list(gold[0].rows)
        legend_width = LEGEND_MARGIN + LEGEND_CHARACTER * max(map(len, names))
        width, height = PANEL_SIZE[0] * len(gold) + legend_width, PANEL_SIZE[1]
        figure = Figure(figsize=(width, height), layout="constrained")
        panels = figure.subplots(1, len(gold), squeeze=False)[0]
        for axes, table in zip(panels, gold, strict=True):
            points = draw_panel(axes, table, text)
        figure.legend(points, names, loc="outside right upper", frameon=False)
        output = StringIO()
        figure.savefig(output, format="svg", metadata={"Date": None})
    return output.getvalue()


def draw_panel(axes: Axes, gold: Table, text: Table) -> list[Line2D]:
    """Draw one panel and return its points, in the order of the table."""
    from matplotlib import colormaps

    colour = colormaps["tab20" if len(gold.rows) > 10 else "tab10"]
    points = []
    for number, (name, scores) in enumerate(gold.rows.items()):
        f1, length, rgba = scores["f1"], text.rows[name]["tokens_per_word"].value, colour(number % colour.N)
        axes.vlines(length, 100 * f1.low, 100 * f1.high, colors=[rgba], alpha=0.5)
        points += axes.plot(length, 100 * f1.value, "o", color=rgba)
    axes.set_title(gold.name)
    axes.set_xlabel(f"tokens per word, {text.name}")
    axes.set_ylabel("boundary F1 (%)")
    axes.grid(alpha=0.3)
    return points
