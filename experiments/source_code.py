"""Source code: whether every file comes back byte by byte, and how many tokens each language takes.

Files are taken from the folders in alphabetical order, up to --megabytes per language; files that are not UTF-8,
and copies of a file, are left out and counted.

python experiments/source_code.py --model en --folder /usr/include --folder /usr/lib/python3 \\
    --train-text corpus.txt.xz --vocab-size 32000 --against bpe --out results/source_code.json
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lineup_options import lineup_of, lineup_parser, parsed_lineup
from result_files import report_grid
from treetok.cli.script_errors import run
from treetok.errors import TreetokError
from treetok.evaluate.interface import EvalTokenizer, NamedTreeTokenizer
from treetok.progress import Progress

SUFFIXES = {
    "C": (".c", ".h"),
    "C++": (".cc", ".cpp", ".cxx", ".hh", ".hpp"),
    "CMake": (".cmake",),
    "CSS": (".css",),
    "Cython": (".pyx", ".pxd"),
    "Fortran": (".f", ".f90"),
    "Go": (".go",),
    "HTML": (".html",),
    "Java": (".java",),
    "JavaScript": (".js", ".mjs"),
    "Perl": (".pl", ".pm"),
    "PHP": (".php",),
    "Python": (".py",),
    "Rust": (".rs",),
    "shell": (".sh",),
    "SQL": (".sql",),
    "TypeScript": (".ts",),
}
LANGUAGES = {suffix: language for language, suffixes in SUFFIXES.items() for suffix in suffixes}


@dataclass
class Sources:
    """The files of one language."""

    texts: list[str] = field(default_factory=list)
    bytes: int = 0


@dataclass
class Collection:
    by_language: dict[str, Sources]
    not_utf8: int
    copies: int


def files_below(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            raise TreetokError(f"{folder} is not a folder")
        for place, inner, names in os.walk(folder):
            inner.sort()
            yield from (Path(place, name) for name in sorted(names))


def collect(folders: Sequence[Path], most_bytes: int) -> Collection:
    found = Collection({}, 0, 0)
    seen: set[bytes] = set()
    for path in files_below(folders):
        language = LANGUAGES.get(path.suffix.lower())
        if language is None or path.is_symlink() or not path.is_file():
            continue
        sources = found.by_language.setdefault(language, Sources())
        # Before it is read: it may be huge.
        if not 0 < path.stat().st_size <= most_bytes - sources.bytes:
            continue
        content = path.read_bytes()
        digest = hashlib.sha256(content).digest()
        if digest in seen:
            found.copies += 1
            continue
        seen.add(digest)
        try:
            sources.texts.append(content.decode("utf-8"))
        except UnicodeDecodeError:
            found.not_utf8 += 1
            continue
        sources.bytes += len(content)
    found.by_language = {name: of_one for name, of_one in sorted(found.by_language.items()) if of_one.texts}
    return found


def tokens_of(tokenizer: EvalTokenizer, texts: list[str]) -> tuple[int, int | None]:
    """The number of tokens, and how many texts do not come back as they were (baselines have no way back)."""
    if isinstance(tokenizer, NamedTreeTokenizer):
        ids = tokenizer.tokenizer.encode_batch(texts)
        back = map(tokenizer.tokenizer.decode, ids)
        changed = sum(one.encode() != other.encode() for one, other in zip(texts, back, strict=True))
        return sum(map(len, ids)), changed
    return sum(len(tokenizer.tokenize(text)) for text in texts), None


def main() -> None:
    parser = lineup_parser(__doc__, baselines="bpe")
    parser.add_argument("--folder", action="append", type=Path, default=[], help="source code; may be repeated")
    parser.add_argument("--megabytes", type=float, default=10.0, help="per language (default: 10)")
    options = parsed_lineup(parser, ["folder"], model=["en"], folder=[Path(__file__).parent])
    found = collect(options.folder, round(options.megabytes * 1e6))
    if not found.by_language:
        raise TreetokError("no source code in these folders")
    lineup = lineup_of(options)
    names = [tokenizer.name for tokenizer in lineup.tokenizers]
    grid = [["language", "files", "MB", *(f"bytes per token, {name}" for name in names), "files changed"]]
    changed_in_all = 0
    with Progress(True).stage("tokenizing", len(found.by_language), "languages") as shown:
        for number, (language, sources) in enumerate(found.by_language.items(), 1):
            counts = [tokens_of(tokenizer, sources.texts) for tokenizer in lineup.tokenizers]
            changed = sum(of_one for _, of_one in counts if of_one is not None)
            changed_in_all += changed
            per_token = [f"{sources.bytes / max(tokens, 1):.3f}" for tokens, _ in counts]
            size = f"{sources.bytes / 1e6:.1f}"
            grid.append([language, str(len(sources.texts)), size, *per_token, str(changed)])
            shown.at(number)
    left_out = f"{found.not_utf8} files that are not UTF-8, {found.copies} copies"
    report_grid(options.out, "Source code", grid, {"left out": left_out, **lineup.notes})
    if changed_in_all:
        raise TreetokError(f"{changed_in_all} files do not come back as they were")


if __name__ == "__main__":
    run(main)
