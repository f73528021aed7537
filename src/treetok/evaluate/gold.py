"""Gold segmentations: words and their morphs, in the three formats in which such data is published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

from treetok.errors import TreetokError

KINDS = ("auto", "tsv", "morpho-challenge", "sigmorphon")
Kind = Literal["auto", "tsv", "morpho-challenge", "sigmorphon"]

ZERO_MORPH = "~"
LONGEST_QUOTED = 60


@dataclass(frozen=True, slots=True)
class GoldWord:
    """A word and its correct segmentations, each a tuple of morphs."""

    word: str
    alternatives: tuple[tuple[str, ...], ...]

    @property
    def must_be_cut(self) -> bool:
        """Whether leaving the word whole is wrong.

        >>> GoldWord("evening", (("even", "ing"), ("evening",))).must_be_cut
        False
        """
        return all(len(morphs) > 1 for morphs in self.alternatives)


@dataclass(frozen=True)
class GoldFile(Sequence[GoldWord]):
    """The words of a gold file, in its order, duplicates kept. `skipped` are words that their morphs do not spell
    (canonical forms, as in `happiness` = `happy ness`): no segmentation of them is correct, so they cannot be
    scored, and reports state their number.
    """

    words: tuple[GoldWord, ...]
    skipped: tuple[GoldWord, ...]
    path: Path
    kind: str

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[GoldWord]:
        return iter(self.words)

    @overload
    def __getitem__(self, index: int) -> GoldWord: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[GoldWord, ...]: ...
    def __getitem__(self, index: int | slice) -> GoldWord | tuple[GoldWord, ...]:
        return self.words[index]


def quoted(text: str) -> str:
    """A text for an error message, where it may be a line of anything.

    >>> quoted("surf s"), len(quoted("s" * 1000))
    ("'surf s'", 65)
    """
    return repr(text) if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]!r}..."


class _BadLine(Exception):
    """What is wrong with a line; the caller adds its number."""


def read_gold(path: str | Path, kind: Kind = "auto") -> GoldFile:
    """Read a gold file of one of these kinds (`auto` detects the kind from the content):

    * `tsv`: `word<TAB>morph morph[, morph morph]...`;
    * `morpho-challenge`: the same with `morph:label` for `morph`; labels and zero morphs `~` are dropped;
    * `sigmorphon` (2022, words): `word<TAB>morph @@morph ...[<TAB>features]`, the morphs in canonical form.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "gold.tsv")
    >>> _ = path.write_text("evening\\teven ing, evening\\n")
    >>> read_gold(path)[0]
    GoldWord(word='evening', alternatives=(('even', 'ing'), ('evening',)))
    """
    path = Path(path)
    if kind not in KINDS:
        raise TreetokError(f"a gold file is one of {', '.join(KINDS)}, not {kind!r}")
    lines = [(number, line) for number, line in enumerate(_read_lines(path), start=1) if line]
    if not lines:
        raise TreetokError(f"{path} is empty: a gold file has lines of word, tab, morphs")
    known_kind = detect_kind([line for _, line in lines]) if kind == "auto" else kind

    words: list[GoldWord] = []
    skipped: list[GoldWord] = []
    for number, line in lines:
        try:
            word, segmentation = _columns(line, known_kind)
            if known_kind == "sigmorphon":
                gold = GoldWord(word, (_canonical_morphs(segmentation),))
                (words if "".join(gold.alternatives[0]) == word else skipped).append(gold)
            elif known_kind == "morpho-challenge":
                words.append(GoldWord(word, _alternatives_with_labels(word, segmentation)))
            else:
                words.append(GoldWord(word, _alternatives(word, segmentation)))
        except _BadLine as error:
            raise TreetokError(f"{path}, line {number}: {error}") from None
    if not words:
        raise TreetokError(f"{path}: none of the {len(skipped)} words is spelled by its morphs")
    return GoldFile(tuple(words), tuple(skipped), path, known_kind)


def detect_kind(lines: Sequence[str]) -> Literal["tsv", "morpho-challenge", "sigmorphon"]:
    """Detect the kind of a gold file from its lines.

    >>> detect_kind(["ran\\trun @@ed"]), detect_kind(["ran\\tran:run_V ~:+PAST"]), detect_kind(["hyy:n\\thyy: n"])
    ('sigmorphon', 'morpho-challenge', 'tsv')
    """
    columns = [line.split("\t") for line in lines if "\t" in line]
    if any(" @@" in line[1] for line in columns) or (columns and all(len(line) == 3 for line in columns)):
        return "sigmorphon"
    # By majority, so that one bad line is reported as such and does not change the kind of the whole file.
    with_labels = sum(all(":" in morph for morph in line[1].split()) for line in columns)
    return "morpho-challenge" if 2 * with_labels > len(columns) else "tsv"


def _read_lines(path: Path) -> list[str]:
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise TreetokError(f"{path} is a directory, not a gold file") from None
    except FileNotFoundError:
        raise TreetokError(f"no such file: {path}") from None
    except (OSError, ValueError) as error:
        raise TreetokError(f"cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # `error.object` and not `content`: it lacks the byte order mark that `error.start` does not count.
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise TreetokError(f"{path}, line {line}: byte 0x{byte:02x} is not UTF-8") from None
    # Not splitlines(): Unicode line separators may be part of a word.
    return [line.removesuffix("\r") for line in text.split("\n")]


def _columns(line: str, kind: str) -> tuple[str, str]:
    word, *others = line.split("\t")
    most_columns = 3 if kind == "sigmorphon" else 2
    if not others:
        raise _BadLine(f"no tab between the word and its morphs in {quoted(line)}")
    if not word:
        raise _BadLine("the word before the tab is empty")
    if len(others) >= most_columns:
        raise _BadLine(f"{len(others) + 1} columns, not {most_columns}")
    return word, others[0]


def _canonical_morphs(segmentation: str) -> tuple[str, ...]:
    morphs = tuple(segmentation.split(" @@"))
    if not all(morphs):
        raise _BadLine(f"an empty morph in {quoted(segmentation)}")
    return morphs


def _alternatives(word: str, segmentation: str) -> tuple[tuple[str, ...], ...]:
    found = []
    for text in _alternative_texts(word, segmentation):
        morphs = _split_at_spaces(text, segmentation)
        if "".join(morphs) != word:
            raise _BadLine(f"the morphs {quoted(text)} do not spell {quoted(word)}")
        found.append(morphs)
    return tuple(found)


def _alternative_texts(word: str, segmentation: str) -> list[str]:
    # A comma may be part of the word.
    if "," in word and segmentation.replace(" ", "") == word:
        return [segmentation]
    return segmentation.split(", ")


def _split_at_spaces(text: str, segmentation: str) -> tuple[str, ...]:
    morphs = tuple(text.split(" "))
    if not all(morphs):
        raise _BadLine(f"an empty morph in {quoted(segmentation)}")
    return morphs


def _alternatives_with_labels(word: str, segmentation: str) -> tuple[tuple[str, ...], ...]:
    found = []
    for text in segmentation.split(", "):
        labelled = _split_at_spaces(text, segmentation)
        for morph_and_label in labelled:
            if ":" not in morph_and_label:
                raise _BadLine(f"no label after the morph {quoted(morph_and_label)}")
            if morph_and_label.startswith(":") and ":" not in word:
                raise _BadLine(f"an empty morph in {quoted(segmentation)}")
        morphs = _without_labels(word, labelled)
        if not morphs:
            raise _BadLine(f"the morphs {quoted(text)} do not spell {quoted(word)}")
        found.append(morphs)
    return tuple(found)


def _without_labels(word: str, labelled: Sequence[str]) -> tuple[str, ...] | None:
    """The morphs that spell the word, or None. Morphs and labels may both contain colons (`hyy::hyy_N n:+GEN` for
    `hyy:n`), so every colon is tried.
    """
    if not labelled:
        return None if word else ()
    morph_and_label = labelled[0]
    for end, character in enumerate(morph_and_label):
        if character == ":":
            morph = morph_and_label[:end]
            if morph == ZERO_MORPH:
                return _without_labels(word, labelled[1:])
            if morph and word.startswith(morph):
                others = _without_labels(word[end:], labelled[1:])
                if others is not None:
                    return (morph, *others)
    return None
