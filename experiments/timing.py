"""The paper's Table 6: seconds per token, one sentence at a time, on one core.

The first time every word of the text is new; the second time it has been seen. Rivals trained here stand behind
the same memory of words as TreeTok, in Python: the second column is that memory, not their libraries.

python experiments/timing.py --train-text corpus.txt.xz --text wiki.valid.raw --out results/timing.json
"""

from __future__ import annotations

import time

from record import entrants_of, parser_of, save

from treetok.cli.script import run
from treetok.evaluate.contestant import Contestant
from treetok.evaluate.report import aligned
from treetok.evaluate.texts import read_text


def seconds_per_token(contestant: Contestant, sentences: list[str]) -> float:
    started = time.perf_counter()
    tokens = sum(len(contestant.tokenize(sentence)) for sentence in sentences)
    return (time.perf_counter() - started) / tokens


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--text", required=True, help="held-out text")
    options = parser.parse_args()
    sentences = read_text(options.text).sentences
    entrants = entrants_of(options)
    grid = [["tokenizer", "new words (s/token)", "known words (s/token)"]]
    for contestant in entrants.contestants:
        # What is set up when first used is not part of it; this word is in no text.
        contestant.tokenize("qzxv")
        new = seconds_per_token(contestant, sentences)
        known = min(seconds_per_token(contestant, sentences) for _ in range(3))
        grid.append([contestant.name, f"{new:.2e}", f"{known:.2e}"])
    save(options.out, "Time per token (Table 6)", grid=grid, notes=entrants.notes)
    print(aligned(grid))


if __name__ == "__main__":
    run(main)
