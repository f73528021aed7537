"""Check that the targets find bugs: each of these is planted in a copy of the sources, where its target has to
find it from the repository's corpus, with a new seed, in the time that it has in CI.

python fuzz/planted_bugs.py [--seconds 20] [TARGET ...]
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run import ROOT, TARGETS, Fuzzing


@dataclass
class Bug:
    target: str
    what: str
    file: str
    # Pieces of the file, each of which is there once, and what to put there instead.
    changes: dict[str, str]


BUGS = [
    Bug(
        "encode",
        "reads 64 bytes at once where the text has one less",
        "native/lossless_splitter.h",
        {"end - text < std::ptrdiff_t(BYTES_IN_MASK) ? 0": "end - text < std::ptrdiff_t(BYTES_IN_MASK) - 1 ? 0"},
    ),
    Bug(
        "encode",
        "a contraction ends before an underscore",
        "native/splitter.h",
        {"return !is_letter_or_mark(kind) && kind != NUMBER && next.code != U'_';": "return kind != NUMBER;"},
    ),
    Bug(
        "vocabulary",
        "a token covers as many characters as it has bytes",
        "native/vocabulary.h",
        {"count_characters(piece, tokens[id].bytes.size())": "tokens[id].bytes.size()"},
    ),
    Bug(
        "decode",
        "looks for a marker before the first",
        "native/vocabulary.h",
        {"i = markers.size(); i-- > 0;": "i = markers.size() + 1; i-- > 0;"},
    ),
    Bug(
        "lexicon_and_counts",
        "the number of trees is not compared with the words",
        "native/lexicon.h",
        {"at != bytes || split != expected || split != splits": "at != bytes || split != expected"},
    ),
    Bug(
        "parser",
        "the rows of weights are not checked",
        "native/parser.h",
        {"stored.rows != rows || stored.columns != columns": "stored.columns != columns"},
    ),
    Bug(
        "vocabulary_file",
        "a token may be empty",
        "native/vocabulary_file.h",
        {"if (!tab || tab == at) return false;": "if (!tab) return false;"},
    ),
    Bug(
        "vocabulary_file",
        "the sum of the counts is not checked",
        "native/vocabulary_file.h",
        {"if (!count || *count > left) return false;": "if (!count) return false;"},
    ),
    Bug(
        "word_counter",
        "a word is lost when the table grows",
        "native/word_counter.h",
        {"number = 0; number < words_.size(); ++number) {": "number = 0; number + 1 < words_.size(); ++number) {"},
    ),
    Bug(
        "word_counter",
        "words of the count that is still dropped are kept",
        "native/word_counter.h",
        {"if (word.count > rarest)": "if (word.count >= rarest)"},
    ),
    Bug(
        "settings",
        "fewest_tokens may be of any type",
        "src/treetok/storage/load.py",
        {"if not isinstance(fewest_tokens, bool):": "if fewest_tokens is None:"},
    ),
    Bug(
        "settings",
        "roles may name tokens that do not exist",
        "src/treetok/special_tokens.py",
        {"if token not in there:": "if not token:"},
    ),
    Bug(
        "tensors",
        "arrays may lie beyond the end of the file",
        "src/treetok/storage/tensors.py",
        {
            "if not begin <= end <= len(data) or": "if not begin <= end or",
            "check_places([entry": "0 and check_places([entry",
        },
    ),
    Bug(
        "tensors",
        "arrays may overlap",
        "src/treetok/storage/tensors.py",
        {"if begin != at:": "if begin > at:"},
    ),
    Bug(
        "text",
        "plain Python has another idea of what is written without spaces",
        "src/treetok/text/lossless.py",
        {r"\p{Thai}\p{Lao}": r"\p{Thai}"},
    ),
    Bug(
        "text",
        "plain Python gives the wrong marker",
        "src/treetok/token_table.py",
        {"return (self.id_of_marker[marker], *": "return (min(self.id_of_marker.values()), *"},
    ),
    Bug(
        "vocab_tsv",
        "a token may be there twice",
        "src/treetok/token_table.py",
        {"if len(ordinary) < len(entries):": "if len(ordinary) > len(entries):"},
    ),
    Bug(
        "vocab_tsv",
        "tokens may have halves of characters",
        "src/treetok/storage/vocab_tsv.py",
        {"    token.encode()\n": ""},
    ),
    Bug(
        "transformers_config",
        "the configuration may name another tokenizer",
        "src/treetok/hf/saved_options.py",
        {'NOT_SAVED = ("tokenizer", ': "NOT_SAVED = ("},
    ),
]


def copy_with(bug: Bug, root: Path) -> None:
    """The sources with the bug. Nothing else of the repository is needed."""
    shutil.rmtree(root, ignore_errors=True)
    for name in ("native", "fuzz", "src"):
        ignored = shutil.ignore_patterns("__pycache__", "corpus" if name == "fuzz" else "shipped")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    (root / "src" / "treetok" / "shipped").symlink_to(ROOT / "src" / "treetok" / "shipped")
    file = root / bug.file
    text = file.read_text(encoding="utf-8")
    for old, new in bug.changes.items():
        if text.count(old) != 1:
            sys.exit(f"{bug.file} no longer has {old!r} once: plant another bug that {bug.target} has to find")
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def is_found(number: int, bug: Bug, seconds: int, seed: int) -> bool:
    root = ROOT / "build" / "fuzz" / "planted" / str(number)
    copy_with(bug, root)
    fuzzing = Fuzzing(root, root / "build")
    fuzzing.build(bug.target)
    fuzzing.package()
    run = fuzzing.fuzz(bug.target, seconds, seed)
    # A target that cannot start finds nothing.
    found = not run.is_right and "Test unit written to" in run.log.read_text(errors="replace")
    how = "found" if found else "NOT FOUND"
    print(f"{bug.target}: {bug.what}: {how} after {run.seconds:.0f} s (seed {seed}, {run.log})", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seed", type=int, help="default: a new one")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbelow(1 << 31) + 1
    bugs = [item for item in enumerate(BUGS) if item[1].target in (options.targets or TARGETS)]
    with ThreadPoolExecutor(2) as two:
        found = list(two.map(lambda item: is_found(*item, options.seconds, seed), bugs))
    sys.exit(0 if all(found) else f"{found.count(False)} of {len(found)} planted bugs were not found")


if __name__ == "__main__":
    main()
