"""Pictures of trees, as in the paper's figures: one SVG per word, and the brackets of each.

python experiments/tree_pictures.py --model my-tokenizer --pictures docs/trees --out results/trees.json
"""

from __future__ import annotations

from pathlib import Path

from case_study import WORDS
from lineup_options import plain_parser
from result_files import save
from treetok import TreeTokenizer
from treetok.cli.script_errors import run


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("words", nargs="*", default=WORDS, metavar="WORD")
    parser.add_argument("--model", required=True, help="a shipped name or a directory")
    parser.add_argument("--pictures", type=Path, required=True, help="directory for the SVG files")
    options = parser.parse_args()
    tokenizer = TreeTokenizer.load(options.model)
    options.pictures.mkdir(parents=True, exist_ok=True)
    grid = [["word", "tree", "pieces"]]
    for word in options.words:
        tree = tokenizer.tree(word)
        (options.pictures / f"{word}.svg").write_text(tree.svg(), encoding="utf-8")
        # Brackets in Markdown would be links.
        grid.append([word, f"`{tree.brackets()}`", "/".join(tokenizer.segment(word))])
        print(tree, tree.brackets(), "", sep="\n")
    save(options.out, "Trees of words", grid=grid)


if __name__ == "__main__":
    run(main)
