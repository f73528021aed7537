"""WikiText as people write: without the spaces that its authors put around punctuation marks.

WikiText's raw files have "film , television" and "guest @-@ starring", which text that models are trained on has
not. What cannot be known (which ' is a quotation mark) is left as it is.

python experiments/plain_wikitext.py wiki.test.raw --out wiki.test.plain.txt
"""

from __future__ import annotations

import re
from pathlib import Path

from lineup_options import plain_parser
from treetok.cli.script_errors import run
from treetok.evaluate.texts import lines_of
from whole_file import write_whole

RULES = [
    # Marks inside of words and numbers: guest @-@ starring, 1 @,@ 000.
    (re.compile(r" @([-,.])@ "), r"\1"),
    # Quotations, before their last marks: think ? ".
    (re.compile(r'" ([^"]*?) "'), r'"\1"'),
    (re.compile(r"(?<=\w) (?=['’](?:s|t|re|ve|m|ll|d)\b)"), ""),
    # The plural: the drivers ' seats.
    (re.compile(r"(?<=s) '(?= )"), "'"),
    (re.compile(r' (?=(?:[,.;:!?%)\]°]|\.{2,3})(?:[ "]|$))'), ""),
    (re.compile(r"(?<=[(\[$£¥₱#]) "), ""),
    (re.compile(r"(?<=\d) – (?=\d)"), "–"),
    (re.compile(r" ([—/]) "), r"\1"),
]


def plain(line: str) -> str:
    """
    >>> plain(' He said : " It \\'s 1 @,@ 000 ( or so ) , don \\'t you think ? " ')
    'He said: "It\\'s 1,000 (or so), don\\'t you think?"'
    >>> plain(" = = Career = = ")
    '= = Career = ='
    """
    line = line.strip()
    for pattern, replacement in RULES:
        line = pattern.sub(replacement, line)
    return line


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("text", type=Path, help="a raw file of WikiText")
    options = parser.parse_args()
    lines = [plain(line) for line in lines_of(options.text)]
    write_whole(options.out, "\n".join(lines) + "\n")


if __name__ == "__main__":
    run(main)
