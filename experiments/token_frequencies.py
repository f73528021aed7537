"""How unlike the training text held-out texts are, seen by their tokens (`gpt_pretraining/frequencies.py`).

Language models are trained on random parts of --lm-text, as in `pretraining.py`.

python experiments/token_frequencies.py --model en --against bpe,unigram --vocab-size 32000 \\
    --train-text corpus.txt.xz --lm-text corpus.txt.xz --text wiki.test.raw --text wiki.test.plain.txt \\
    --out results/token_frequencies.json
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpt_pretraining.documents import documents_of, training_parts
from gpt_pretraining.frequencies import frequency_mismatch
from lineup_options import add_text, check_names, lineup_of, lineup_parser, parsed_lineup
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.interface import EvalTokenizer
from treetok.evaluate.texts import name_of
from treetok.progress import Progress


def ids_of(tokenizer: EvalTokenizer, texts: Iterable[str], numbers: dict[str, int]) -> npt.NDArray[np.uint32]:
    """The tokens of texts as numbers, which new tokens are given in order."""
    ids = [numbers.setdefault(token, len(numbers)) for text in texts for token in tokenizer.tokenize(text)]
    return np.array(ids, dtype=np.uint32)


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe,unigram")
    add_text(parser)
    parser.add_argument("--lm-text", action="append", type=Path, default=[], help="may be repeated")
    parser.add_argument("--megabytes", type=float, default=20.0, help="of --lm-text (default: 20)")
    options = parsed_lineup(parser, megabytes=0.01, against="bpe")
    check_names(options.text)
    training = training_parts(options.lm_text or options.train_text, round(options.megabytes * 1e6))
    held_out = {name_of(path): documents_of(Path(path)) for path in options.text}
    if not training or not all(held_out.values()):
        raise TreetokError("there is no text to compare")
    sizes = {name: sum(len(document.encode()) for document in documents) for name, documents in held_out.items()}
    lineup = lineup_of(options)
    grid = [
        ["tokenizer", *(f"{name}: {what}" for name in held_out for what in ("bits per byte", "bytes per token"))]
    ]
    with Progress(True).stage("tokenizing", len(lineup.tokenizers), "tokenizers") as shown:
        for number, tokenizer in enumerate(lineup.tokenizers, 1):
            numbers: dict[str, int] = {}
            expected = ids_of(tokenizer, training, numbers)
            row = [tokenizer.name]
            for name, documents in held_out.items():
                ids = ids_of(tokenizer, documents, numbers)
                mismatch = frequency_mismatch(expected, ids, sizes[name])
                row += [f"{mismatch:.4f}", f"{sizes[name] / len(ids):.3f}"]
            grid.append(row)
            shown.at(number)
    notes = {
        "bits per byte": "what a model of single tokens loses by having the frequencies of the training text"
        " instead of those of the held-out text",
        "training text of models": f"{options.megabytes:g} MB",
    }
    report_grid(options.out, "Frequencies of tokens", grid, {**notes, **lineup.notes})


if __name__ == "__main__":
    run(main)
