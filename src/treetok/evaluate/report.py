"""A comparison as tables in plain text and Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treetok.evaluate.bootstrap import Figure
from treetok.evaluate.compare import Comparison, Table


@dataclass(frozen=True)
class Column:
    """One column of a table: its heading, the score it shows, and how that is formatted."""

    heading: str
    score: str
    write: Callable[[Figure], str]
    # Left out in a terminal, where space is short.
    detail: bool = False


def percent(figure: Figure) -> str:
    """
    >>> percent(Figure(0.256, 0.23, 0.285, 1000))
    '25.6'
    """
    return f"{100 * figure.value:.1f}"


def percent_with_interval(figure: Figure) -> str:
    """
    >>> percent_with_interval(Figure(0.256, 0.23, 0.285, 1000))
    '25.6 (23.0-28.5)'
    """
    return f"{percent(figure)} ({100 * figure.low:.1f}-{100 * figure.high:.1f})"


def decimals(places: int) -> Callable[[Figure], str]:
    """
    >>> decimals(2)(Figure(26.5814, 26, 27, 8000))
    '26.58'
    """

    def write(figure: Figure) -> str:
        return f"{figure.value:.{places}f}"

    return write


COLUMNS: dict[str, list[Column]] = {
    "segmentation": [
        Column("accuracy", "accuracy", percent_with_interval),
        Column("without ' -", "accuracy_plain_words", percent_with_interval),
        Column("P", "precision", percent),
        Column("R", "recall", percent),
        Column("F1", "f1", percent_with_interval),
        Column("micro P", "micro_precision", percent, detail=True),
        Column("micro R", "micro_recall", percent, detail=True),
        Column("micro F1", "micro_f1", percent),
        Column("pieces/word", "pieces_per_word", decimals(2)),
    ],
    "text": [
        Column("tokens/word", "tokens_per_word", decimals(3)),
        Column("tokens/sentence", "tokens_per_sentence", decimals(2)),
        Column("bytes/token", "bytes_per_token", decimals(2)),
        Column("Renyi", "renyi_efficiency", percent),
        Column("words whole", "share_of_words_whole", percent),
        Column("vocabulary used", "vocabulary_use", percent),
        Column("nats/sentence", "nats_per_sentence", decimals(2)),
        Column("bits/character", "bits_per_character", decimals(3)),
    ],
    "trees": [
        Column("leaves dropped", "leaves_dropped", percent_with_interval),
        Column("leaves counted", "leaves_counted", percent_with_interval),
        Column("dropped, without ' -", "leaves_dropped_plain_words", percent),
        Column("counted, without ' -", "leaves_counted_plain_words", percent),
        Column("counted, first 64", "leaves_counted_first_64", percent),
    ],
}
FIRST_HEADING = {"segmentation": "tokenizer", "text": "tokenizer", "trees": "trees"}
LEGEND = {
    "segmentation": "In %, with 95 % intervals over words. P, R, F1: of boundaries, averaged over words; micro:"
    " pooled over all boundaries.",
    "text": "Words are separated by spaces; words whole: in %, of words made of letters only. Renyi efficiency:"
    " alpha 2.5, in % of log |V|, |V| being the vocabulary size (where there is none: the number of tokens that"
    " occur).",
    "trees": "Morphemes that are spans of the tree, in %, mean over words, with 95 % intervals. Leaves: morphemes"
    " of one letter; the code released with the paper counts them, and scores the first 64 words only.",
}
SIZE_HEADING = "|V|"
P_HEADING = "p"
# The tested score whose p-value is shown, and its name.
TESTED = {
    "segmentation": ("accuracy", "accuracy"),
    "text": ("nats_per_sentence", "nats/sentence"),
    "trees": ("leaves_dropped", "recall without leaves"),
}


def plain_text(comparison: Comparison) -> str:
    """All tables, aligned, for a terminal."""
    parts = [
        f"{title_of(table)}\n\n{aligned(rows_of(table, comparison, details=False))}\n\n{legend_of(table)}\n"
        for table in comparison.tables
    ]
    if comparison.notes:
        parts.append("".join(f"{name}: {note}\n" for name, note in comparison.notes.items()))
    return "\n".join(parts)


def markdown(comparison: Comparison) -> str:
    """All tables for a document."""
    parts = []
    for table in comparison.tables:
        grid = markdown_grid(rows_of(table, comparison, details=True))
        parts.append(f"**{title_of(table)}**\n\n{grid}\n\n{legend_of(table)}\n")
    if comparison.notes:
        parts.append("\n".join(f"* {name}: {note}" for name, note in comparison.notes.items()) + "\n")
    return "\n".join(parts)


def markdown_grid(rows: Sequence[Sequence[str]]) -> str:
    """
    >>> print(markdown_grid([["name", "F1"], ["Unigram", "9.0"]]))
    | name | F1 |
    | --- | ---: |
    | Unigram | 9.0 |
    """
    heading, *others = rows
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *others]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_json(comparison: Comparison) -> str:
    """All scores with their intervals, unrounded."""
    return json.dumps(asdict(comparison), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_plain_data(data: Mapping[str, Any]) -> Comparison:
    """The comparison from its JSON."""
    tables = [
        Table(
            **{
                **table,
                "rows": {
                    name: {score: Figure(**figure) for score, figure in scores.items()}
                    for name, scores in table["rows"].items()
                },
            }
        )
        for table in data["tables"]
    ]
    # Older results call them "contestants".
    sizes = data["tokenizers"] if "tokenizers" in data else data["contestants"]
    return Comparison(sizes, tables, data["notes"])


def title_of(table: Table) -> str:
    """
    >>> title_of(Table("text", "valid", {"sentences": 8679, "words": 213886}, {}))
    'valid: 8679 sentences, 213886 words'
    """
    what = "trees, " if table.kind == "trees" else ""
    return f"{what}{table.name}: " + ", ".join(f"{value} {name}" for name, value in table.facts.items())


def legend_of(table: Table) -> str:
    legend = LEGEND[table.kind]
    if table.p_values:
        legend += (
            f" {P_HEADING}: paired permutation test of {TESTED[table.kind][1]} against {table.compared_with}."
        )
    return legend


def rows_of(table: Table, comparison: Comparison, details: bool) -> list[list[str]]:
    """The heading and one row per tokenizer; columns without any score are left out."""
    shown = [column for column in COLUMNS[table.kind] if details or not column.detail]
    columns = [column for column in shown if any(column.score in scores for scores in table.rows.values())]
    with_sizes = table.kind != "trees"
    heading = [FIRST_HEADING[table.kind], *([SIZE_HEADING] if with_sizes else [])]
    heading += [*(column.heading for column in columns), *([P_HEADING] if table.p_values else [])]
    rows = [heading]
    for name, scores in table.rows.items():
        row = [name]
        if with_sizes:
            row.append(str(comparison.tokenizers.get(name) or "-"))
        row += [column.write(scores[column.score]) if column.score in scores else "-" for column in columns]
        if table.p_values:
            row.append(written_p(table.p_values.get(name, {}).get(TESTED[table.kind][0])))
        rows.append(row)
    return rows


def written_p(value: float | None) -> str:
    """
    >>> written_p(0.0321), written_p(0.00002), written_p(None)
    ('0.032', '<0.001', '-')
    """
    if value is None:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def stated_p(value: float) -> str:
    """
    >>> stated_p(0.0321), stated_p(0.00002)
    ('p = 0.032', 'p < 0.001')
    """
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """
    >>> print(aligned([["name", "F1"], ["Unigram", "9.0"]]))
    name      F1
    Unigram  9.0
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for first, *others in rows:
        cells = [
            first.ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
