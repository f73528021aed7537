"""The paper's Table 6: seconds per token, one sentence at a time, on one core.

In the first pass every word of the text is new; in the second all have been seen. Baselines trained here cache
words in Python as TreeTok does: the second column measures that cache, not their libraries.

python experiments/timing.py --train-text corpus.txt.xz --text wiki.valid.raw --out results/timing.json
"""

from __future__ import annotations

import time

from lineup_options import add_text, lineup_of, lineup_parser
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.texts import read_text


def seconds_per_token(tokenizer: EvalTokenizer, sentences: list[str]) -> float:
    started = time.perf_counter()
    tokens = sum(len(tokenizer.tokenize(sentence)) for sentence in sentences)
    return (time.perf_counter() - started) / tokens


def main() -> None:
    parser = lineup_parser(__doc__)
    add_text(parser)
    options = parser.parse_args()
    sentences = [sentence for path in options.text for sentence in read_text(path).sentences]
    lineup = lineup_of(options)
    grid = [["tokenizer", "new words (s/token)", "known words (s/token)"]]
    for tokenizer in lineup.tokenizers:
        # Trigger set-up that happens on first use, with a word that no text has.
        tokenizer.tokenize("qzxv")
        new = seconds_per_token(tokenizer, sentences)
        known = min(seconds_per_token(tokenizer, sentences) for _ in range(3))
        grid.append([tokenizer.name, f"{new:.2e}", f"{known:.2e}"])
    report_grid(options.out, "Time per token (Table 6)", grid, lineup.notes)


if __name__ == "__main__":
    run(main)
