"""The paper's table of times: seconds per token, beside the paper's, from what `benchmarks/encode.py` measured.

Warm: line by line, when all words have been seen; the last of the benchmark's texts. Cold: a process that has just
loaded its tokenizer encodes a text for the first time, in the way that is faster for its library.

python experiments/timing.py results/performance/encode.json --out results/timing.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lineup_options import plain_parser
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.errors import TreetokError

# Of a Python implementation of each, one sentence at a time; TreeTok's parser runs on every word.
PAPER = {"hf-bpe": "2.49e-05", "hf-wordpiece": "2.33e-05", "hf-unigram": "2.54e-05", "reference": "1.98e-03"}


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("benchmark", type=Path, help="what benchmarks/encode.py wrote")
    options = parser.parse_args()
    try:
        benchmark = json.loads(options.benchmark.read_text(encoding="utf-8"))
        grid = table(benchmark)
    except OSError as error:
        raise TreetokError(f"cannot read {options.benchmark}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise TreetokError(f"{options.benchmark} is not what benchmarks/encode.py writes: {error!r}") from None
    text = benchmark["figures"]["texts"][-1]
    notes = {
        "warm": f"{text['name']}, {text['megabytes']:.1f} MB, line by line, the best round",
        "cold": "the first text of a fresh process, without loading; the median process",
        "paper": "its Table 6: another machine, text and vocabulary; TreeTok's parser runs on every word there, as"
        " it does on unknown words here",
    }
    report_grid(options.out, "Time per token (Table 6)", grid, notes)


def table(benchmark: dict[str, Any]) -> list[list[str]]:
    figures = benchmark["figures"]
    text, first_touch = figures["texts"][-1], figures["first touch"]
    seconds = text["processor_seconds" if text["clock"] == "processor" else "seconds"]
    titles = [row[0] for row in benchmark["tables"][0]["grid"][1:]]
    grid = [["tokenizer", "warm (s/token)", "cold (s/token)", "paper (s/token)"]]
    for name, title in zip(seconds, titles, strict=True):
        warm = min(seconds[name]["line"]) / text["tokens"][name]
        cold = first_touch[name]["encode seconds"] / first_touch[name]["tokens"]
        grid.append([title, f"{warm:.2e}", f"{cold:.2e}", PAPER.get(name, "-")])
    return grid


if __name__ == "__main__":
    run(main)
