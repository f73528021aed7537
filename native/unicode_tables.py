"""Write the header with what the native core knows about characters, according to the Python that runs this and to
its `regex`: the reference reads text with the same two.

python native/unicode_tables.py HEADER
"""

import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

import regex

# A package without the modules that `import treetok` loads: where wheels are built, there is no numpy.
sys.modules["treetok"] = ModuleType("treetok")
sys.modules["treetok"].__path__ = [str(Path(__file__).parent.parent / "src/treetok")]

from treetok.text.lossless import PICTURE, UNSPACED  # noqa: E402
from treetok.text.uncased import normalise_character  # noqa: E402

CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)
# Code points that share a row of a table; most rows occur many times and are stored once.
ROW = 128

# Kinds of characters: a character is of the first kind that it fits.
KINDS = {
    "UNSPACED": UNSPACED,
    "UPPER": r"[\p{Lu}\p{Lt}]",
    "LETTER": r"\p{L}",
    "MARK": r"\p{M}",
    "FLAG": r"\p{RI}",
    "PICTURE": PICTURE,
    "NUMBER": r"\p{N}",
    "SPACE": r"\s",
}
SYMBOL = len(KINDS)
# Properties beside the kind, as bits above it.
EXTENDS = r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]"
PROPERTIES = {"PICTOGRAPHIC": r"\p{ExtPict}", "EXTENDS_PICTURE": EXTENDS, "MAY_FOLLOW_PICTURE": r"\p{GCB=Extend}"}
KIND_BITS = 4


def all_characters() -> str:
    return "".join(chr(code) for code in range(CODE_POINTS) if code not in SURROGATES)


def matching(pattern: str, characters: str) -> set[int]:
    compiled = regex.compile(f"(?:{pattern})+", regex.VERSION1)
    return {ord(character) for match in compiled.finditer(characters) for character in match[0]}


def character_classes(characters: str) -> list[int]:
    classes = [SYMBOL] * CODE_POINTS
    for kind, pattern in reversed(list(enumerate(KINDS.values()))):
        for code in matching(pattern, characters):
            classes[code] = kind
    bits = [matching(pattern, characters) for pattern in PROPERTIES.values()]
    python_words = {ord(c) for c in characters if c.isalnum() or c == "_"}
    python_letters = {ord(c) for c in characters if c.isalpha()}
    python_lower = {ord(c) for c in characters if c.islower()}
    for number, codes in enumerate(
        [*bits, python_words, python_letters, python_lower, *sigma_context(characters)]
    ):
        for code in codes:
            classes[code] |= 1 << (KIND_BITS + number)
    return classes


def sigma_context(characters: str) -> tuple[set[int], set[int]]:
    """The characters that have a case, and those that are skipped, when `str.lower` decides whether a capital
    sigma is at the end of a word."""
    cased = {ord(c) for c in characters if (c + "Σ").lower()[-1] == "ς"}
    skipped = {ord(c) for c in characters if ("A" + c + "Σ").lower()[-1] == "ς"} - cased
    return cased, skipped


BITS = [*PROPERTIES, "PYTHON_WORD", "PYTHON_LETTER", "PYTHON_LOWER", "CASED", "SKIPPED_FOR_CASE"]


def mapped(characters: str, change: Callable[[str], str]) -> dict[int, str]:
    """The characters that a function changes."""
    return {ord(c): changed for c in characters if (changed := change(c)) != c}


def write_array(name: str, kind: str, values: Iterable[int]) -> str:
    numbers = list(map(str, values))
    # Not in one line: some compilers have a limit.
    lines = [",".join(numbers[start : start + ROW]) + ",\n" for start in range(0, len(numbers), ROW)]
    return f"inline constexpr {kind} {name}[] = {{\n{''.join(lines)}}};\n"


def write_rows(name: str, kind: str, values: Sequence[int]) -> str:
    """A table in two stages: for every row of code points, which of the distinct rows it is."""
    rows: dict[tuple[int, ...], int] = {}
    numbers = [
        rows.setdefault(tuple(values[start : start + ROW]), len(rows)) for start in range(0, len(values), ROW)
    ]
    flat = [value for row in rows for value in row]
    return write_array(f"{name}_ROW", "std::uint16_t", numbers) + write_array(name, kind, flat)


def write_changes(name: str, changes: dict[int, str]) -> str:
    """Where the UTF-8 of the changed character starts in one string; its first byte is the number of bytes that
    follow. 0: the character is not changed."""
    text, places, known = bytearray(b"\0"), [0] * CODE_POINTS, {}
    for code, changed in changes.items():
        encoded = changed.encode("utf-8", "surrogatepass")
        if encoded not in known:
            known[encoded] = len(text)
            text += bytes([len(encoded)]) + encoded
        places[code] = known[encoded]
    return write_array(f"{name}_TEXT", "unsigned char", text) + write_rows(f"{name}_AT", "std::uint32_t", places)


def main(path: str) -> None:
    characters = all_characters()
    kinds = "".join(f"  {name} = {number},\n" for number, name in enumerate([*KINDS, "SYMBOL"]))
    bits = "".join(f"  {name} = {1 << (KIND_BITS + number)},\n" for number, name in enumerate(BITS))
    # One lower-case letter for each: what `Lossless.align` takes of those that become several.
    lower = [ord(chr(code).lower()[0]) for code in range(CODE_POINTS)]
    upper = [ord(chr(code).upper()) if len(chr(code).upper()) == 1 else 0 for code in range(CODE_POINTS)]
    parts = [
        f"// Made by unicode_tables.py: Unicode {unicodedata.unidata_version}, regex {regex.__version__}.\n",
        "#pragma once\n#include <cstdint>\nnamespace treetok {\n",
        f"enum Kind : std::uint8_t {{\n{kinds}}};\n",
        f"enum Property : std::uint16_t {{\n  KIND_MASK = {(1 << KIND_BITS) - 1},\n{bits}}};\n",
        f"inline constexpr unsigned CODE_POINTS_PER_ROW = {ROW};\n",
        write_rows("CLASS", "std::uint16_t", character_classes(characters)),
        # As distances, since these repeat.
        write_rows("TO_LOWER", "std::int32_t", [low - code for code, low in enumerate(lower)]),
        # 0: the capital is several characters.
        write_rows("TO_UPPER", "std::int32_t", [up - code if up else 1 << 30 for code, up in enumerate(upper)]),
        write_changes("UNCASED", mapped(characters, normalise_character)),
        "}  // namespace treetok\n",
    ]
    Path(path).write_text("".join(parts))


if __name__ == "__main__":
    main(sys.argv[1])
