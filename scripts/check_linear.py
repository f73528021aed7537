"""Check that work grows with the size of a text, and no faster: texts and files of many kinds, at 1, 2, 4 and 8
times a size.

Prints, for every kind and entry point, the time that a character takes in the largest text, over the least that it
takes in a smaller one: 1 is linear, 8 quadratic. The worst come first. Exits with 1 if one is above 1.5. Times are
those of the processor, the least of several, so that other processes matter little; what looks bad is timed again.

python scripts/check_linear.py [WORD...]        only the kinds and entry points whose names have these words
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from treetok import TreeTokenizer
from treetok.cli.id_files import read_ids
from treetok.corpus.counting import WordCounter, count_words
from treetok.text import profile_named
from treetok.text.normalized import normalise

SIZES = (1, 2, 4, 8)
MOST = 1.5
GOOD = 1.2
# The smallest text is so large that the work takes about so many seconds.
SECONDS, SECONDS_OF_FILES = 0.001, 0.015
TRIES = 8
SEED = 7
WORDS = ["the", "windsurfing", "paperbacks", "were", "mistranslated", "by", "tricycling", "grandmothers"]

Work = Callable[[Any], object]


def letters(alphabet: str, longest: int = 1) -> Callable[[int], str]:
    """Text of so many characters, chosen from an alphabet, or of random words if they have a length."""

    def text(size: int) -> str:
        choose = random.Random(SEED)
        if longest == 1:
            return "".join(choose.choices(alphabet, k=size))
        words = (
            "".join(choose.choices(alphabet, k=choose.randint(2, longest))) for _ in range(2 * size // longest + 1)
        )
        return " ".join(words)[:size]

    return text


def words(size: int) -> str:
    return " ".join(random.Random(SEED).choices(WORDS, k=size // 6))[:size]


def colliding_words(size: int) -> str:
    """Words of 15 bytes whose hash has the same leading bits if it is the sum of two products: for many second
    halves, a first half that completes the sum is looked up."""
    random_bytes = np.random.default_rng(SEED)
    first_factor, second_factor = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
    target, window = np.uint64(1 << 63), np.uint64(1 << 44)

    def halves(count: int, before: bytes, after: bytes) -> np.ndarray:
        made = random_bytes.integers(97, 123, size=(count, 7), dtype=np.uint8)
        columns = [np.full((count, 1), byte, np.uint8) for byte in before]
        return np.hstack([*columns, made, *[np.full((count, 1), byte, np.uint8) for byte in after]])

    first = halves(1 << 18, b" ", b"")
    products = first.view("<u8")[:, 0] * first_factor
    order = np.argsort(products)
    found: list[str] = []
    while 15 * len(found) < size:
        second = halves(1 << 16, b"", b"\x0f")
        least = target - second.view("<u8")[:, 0] * second_factor
        starts = np.searchsorted(products[order], least)
        ends = np.searchsorted(products[order], least + window)
        for at in np.nonzero(ends > starts)[0]:
            found.append((first[order[starts[at]]].tobytes() + second[at, :7].tobytes()).decode())
    return "".join(found)[:size]


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


ENGLISH = "abcdefghijklmnopqrstuvwxyz"
TEXTS: dict[str, Callable[[int], str]] = {
    "words": words,
    "new words": letters(ENGLISH, 14),
    "words that collide": colliding_words,
    "one letter": repeated("a"),
    "one capital": repeated("A"),
    "random letters": letters(ENGLISH),
    "random cases": letters("aAbB"),
    "camelCase": repeated("camelCaseHTMLParser"),
    "snake_case": repeated("snake_case_"),
    "hyphens": repeated("well-known-"),
    "contractions": letters("'s ’t a"),
    "apostrophes": repeated("'"),
    "digits": letters("0123456789"),
    "digits and letters": letters("1a"),
    "numbers": repeated("1,234.5 "),
    "superscripts": letters("¹²³½Ⅷ"),
    "punctuation": letters("-.,;!?"),
    "exclamation marks": repeated("!"),
    "quotes": letters("\"'“”«»"),
    "URLs": repeated("https://example.org/a?b=c&d=%20e#f "),
    "base64": letters(ENGLISH + ENGLISH.upper() + "0123456789+/"),
    "HTML": repeated("<p class='a'>text</p>"),
    "JSON": repeated('{"a": [1, "b", null]}, '),
    "spaces": repeated(" "),
    "tabs": repeated("\t"),
    "line feeds": repeated("\n"),
    "CRLF": repeated("\r\n"),
    "carriage returns": repeated("\r"),
    "whitespace of all kinds": letters(" \t\n\r\v\f\x85\xa0\u2003\u2028\u3000"),
    "no-break spaces": letters("a\xa0"),
    "null characters": repeated("\0"),
    "control characters": letters("".join(map(chr, range(32)))),
    "accents": letters("äöüéàñ"),
    "accents taken apart": repeated("e\u0301a\u0308 "),
    "marks in order": repeated("\u0300"),
    "marks out of order": repeated("\u0315\u0300"),
    "marks of three classes": repeated("\u0345\u0300\u0327"),
    "marks that are several": repeated("\u0345\u0344"),
    "marks of width": repeated("\u0315\uff9e"),
    "marks of Tibetan": repeated("\u0301\u0f73"),
    "marks behind letters": repeated("e" + "\u0315\u0300" * 40),
    "Han": letters("東京大学数理科学研究所"),
    "one Han": repeated("東"),
    "Kana": letters("ひらがなカタカナー"),
    "narrow Kana": letters("ｶﾞﾊﾟｱ"),
    "Thai": letters("สวัสดีครับ"),
    "Khmer": letters("សួស្តី"),
    "Devanagari": letters("नमस्ते क्षत्रिय"),
    "Arabic": letters("سلام می\u200cخواهم "),
    "Hebrew with points": repeated("שָׁלוֹם "),
    "Hangul": letters("한국어모든인간은"),
    "Jamo": letters("\u1112\u1161\u11ab"),
    "leading Jamo": repeated("\u1112"),
    "emoji": letters("👍🏽🎉😀"),
    "emoji in families": repeated("👩\u200d👩\u200d👧\u200d"),
    "keycaps": repeated("1\ufe0f\u20e3"),
    "flags": repeated("🇩🇪"),
    "halves of flags": repeated("🇩"),
    "variation selectors": repeated("a\ufe0f"),
    "joiners": letters("a\u200c\u200d"),
    "bidirectional": letters("a\u202e\u2066א\u2069"),
    "mixed scripts": letters("aяαあ東א한1 "),
    "mathematical letters": letters("𝐚𝒷𝔠𝕕"),
    "full width": letters("ＡＢＣ１２３！"),
    "ligatures": letters("ﬁﬂﬃﷺ"),
    "private use": letters("\ue000\uf8ff\U000f0000"),
    "unassigned": letters("\u0378\U000e0fff\uffff"),
    "byte order marks": repeated("\ufeff"),
    "replacement characters": repeated("\ufffd"),
    "beginnings of special tokens": repeated("<"),
    "almost special tokens": repeated("<|endoftext|"),
    "special tokens": repeated("<|endoftext|>"),
    "added tokens": repeated("<extra>a "),
    "added tokens inside words": repeated("a<extra>"),
}


@cache
def loaded(name: str) -> TreeTokenizer:
    return TreeTokenizer.load(name)


@cache
def normalizing(form: str) -> TreeTokenizer:
    return TreeTokenizer(replace(loaded("en").state, normalizer=form))


@cache
def with_many_specials() -> TreeTokenizer:
    return loaded("en").with_special_tokens([f"<|{number}|>" for number in range(100)])


@cache
def for_transformers() -> Any:
    """The class for transformers; None where transformers is missing."""
    try:
        from transformers import AddedToken

        from treetok.hf import TreeTokTokenizer
    except ImportError:
        return None
    tokenizer = TreeTokTokenizer(loaded("en"))
    tokenizer.add_tokens([AddedToken("<extra>", single_word=True, lstrip=True, normalized=False)])
    return tokenizer


def new_tokenizer(text: str) -> Work:
    """One that has not seen any of the words."""
    tokenizer = TreeTokenizer(loaded("en").state)
    return lambda text: tokenizer.count_tokens(text)


def word_counter(text: str) -> Work:
    return WordCounter(profile_named("lossless")).add


# What a text is given to, and what is done before, for which no time is taken.
Prepare = Callable[[str], Work]


def always(work: Work) -> Prepare:
    return lambda text: work


def entry_points() -> dict[str, tuple[Prepare, Callable[[str], Any]]]:
    """By name: what is done, and to what the text is turned first."""
    en, uncased = loaded("en"), loaded("en-uncased")
    as_text: Callable[[str], Any] = lambda text: text  # noqa: E731
    lines: Callable[[str], Any] = lambda text: [text[at : at + 100] for at in range(0, len(text), 100)]  # noqa: E731
    points: dict[str, tuple[Prepare, Callable[[str], Any]]] = {
        "encode": (always(en.encode), as_text),
        "encode new words": (new_tokenizer, as_text),
        "encode_batch": (always(partial(en.encode_batch, threads=2)), lines),
        "encode_flat": (always(lambda text: en.encode_flat([text])), as_text),
        "count_tokens": (always(en.count_tokens), as_text),
        "offsets": (always(lambda text: en.encode_flat_with_offsets([text])), as_text),
        "dropout": (always(lambda text: en.encode(text, dropout=0.3, seed=1)), as_text),
        "specials": (always(lambda text: with_many_specials().encode(text, allowed_special="all")), as_text),
        "decode": (always(en.decode), en.encode),
        "decode_stream": (always(lambda ids: en.decode_stream().extend(ids)), en.encode),
        "segment": (always(en.segment), as_text),
        "uncased": (always(uncased.encode), as_text),
        "uncased offsets": (always(uncased.encode_with_offsets), as_text),
        "nfc": (always(partial(normalise, "nfc")), as_text),
        "nfkc": (always(partial(normalise, "nfkc")), as_text),
        "nfkc encode": (always(normalizing("nfkc").encode), as_text),
        "nfkc offsets": (always(lambda text: normalizing("nfkc").encode_flat_with_offsets([text])), as_text),
        "count words": (word_counter, as_text),
        "split": (always(profile_named("lossless").split), as_text),
        "split uncased": (always(profile_named("uncased").split), as_text),
    }
    if for_transformers() is not None:
        points["transformers"] = (always(lambda text: for_transformers()(text)), as_text)
        points["transformers offsets"] = (
            always(lambda text: for_transformers()(text, return_offsets_mapping=True)),
            as_text,
        )
    return points


def write_npy(path: Path, text: str) -> None:
    np.save(path, np.array(loaded("en").encode(text), dtype=np.uint16))


def write_bin(path: Path, text: str) -> None:
    np.array(loaded("en").encode(text), dtype=np.uint16).tofile(path)


def write_parquet(path: Path, text: str) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    pyarrow.parquet.write_table(pyarrow.table({"text": rows}), path)


def write_zst(path: Path, text: str) -> None:
    import zstandard

    path.write_bytes(zstandard.compress(text.encode()))


def write_rows(path: Path, text: str) -> None:
    rows = (json.dumps({"text": text[at : at + 1000], "n": at}) + "\n" for at in range(0, len(text), 1000))
    packed = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(packed("".join(rows).encode()))


def write_text(path: Path, text: str) -> None:
    packed = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(packed(text.encode()))


def write_many_streams(path: Path, text: str) -> None:
    packed = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}[path.suffix]
    path.write_bytes(b"".join(packed(text[at : at + 50].encode()) for at in range(0, len(text), 50)))


def write_many_frames(path: Path, text: str) -> None:
    import zstandard

    compressor = zstandard.ZstdCompressor()
    path.write_bytes(b"".join(compressor.compress(text[at : at + 50].encode()) for at in range(0, len(text), 50)))


def write_one_row(path: Path, text: str) -> None:
    path.write_text(json.dumps({"text": text}), encoding="utf-8")


def write_deep_rows(path: Path, text: str) -> None:
    depth = 200
    row = '{"text": "a", "n": ' + "[" * depth + "9" * depth + "]" * depth + "}\n"
    path.write_text(row * (len(text) // len(row)), encoding="utf-8")


# By name: the name of the file, what is in it, and how it is written.
FILES: dict[str, tuple[str, str, Callable[[Path, str], None]]] = {
    "plain text": ("a.txt", "words", write_text),
    "text as .gz": ("a.txt.gz", "words", write_text),
    "text as .xz": ("a.txt.xz", "words", write_text),
    "text as .bz2": ("a.txt.bz2", "words", write_text),
    "text as .zst": ("a.txt.zst", "words", write_zst),
    "rows": ("a.jsonl", "words", write_rows),
    "rows as .gz": ("a.jsonl.gz", "words", write_rows),
    "rows as .xz": ("a.jsonl.xz", "words", write_rows),
    "rows as Parquet": ("a.parquet", "words", write_parquet),
    "one row": ("a.jsonl", "words", write_one_row),
    "one row of null characters": ("a.jsonl", "null characters", write_one_row),
    "deep rows": ("a.jsonl", "words", write_deep_rows),
    "lines of one word": ("a.txt", "new words", lambda path, text: write_text(path, text.replace(" ", "\n"))),
    "one long word": ("a.txt", "one letter", write_text),
    "one line of Han": ("a.txt", "one Han", write_text),
    "empty lines": ("a.txt", "line feeds", write_text),
    "CRLF lines": ("a.txt", "words", lambda path, text: write_text(path, text.replace(" ", "\r\n"))),
    "tabs alone": ("a.txt", "tabs", write_text),
    "spaces alone": ("a.txt", "spaces", write_text),
    "null characters as .gz": ("a.txt.gz", "null characters", write_text),
    "null characters as .xz": ("a.txt.xz", "null characters", write_text),
    "null characters as .zst": ("a.txt.zst", "null characters", write_zst),
    "many streams of .gz": ("a.txt.gz", "words", write_many_streams),
    "many streams of .xz": ("a.txt.xz", "words", write_many_streams),
    "many streams of .bz2": ("a.txt.bz2", "words", write_many_streams),
    "many frames of .zst": ("a.txt.zst", "words", write_many_frames),
    "ids as .npy": ("a.npy", "words", write_npy),
    "ids as .bin": ("a.bin", "words", write_bin),
}


def of_files(is_ids: bool) -> dict[str, Work]:
    en = loaded("en")
    if is_ids:
        return {"decode": lambda path: [None for _ in read_ids(str(path), None, en.vocab_size)]}
    return {
        "encode_files": lambda path: en.encode_files(path, path.parent / "out.bin", progress=False),
        "encode_file": en.encode_file,
        "count_files": lambda path: en.count_files(path, progress=False),
        "count words": lambda path: count_words(path, profile_named("lossless")),
    }


def seconds_of(prepare: Prepare, given: Any) -> float:
    work = prepare(given)
    start = time.process_time()
    work(given)
    return time.process_time() - start


def ratio_to_linear(prepare: Prepare, made: Callable[[int], Any], enough: float, good: float = GOOD) -> float:
    """The time per character in the largest text, over the least in the others. It is taken until it is good."""
    size = 1000
    while seconds_of(prepare, made(size)) < enough and size < 1 << 23:
        size *= 2
    ratio = ratio_from(size, prepare, made, good)
    # From some size on, every array is in new memory, which takes longer: a step, once. Quadratic time stays.
    return ratio if ratio < good else min(ratio, ratio_from(size * SIZES[-1], prepare, made, good))


def ratio_from(size: int, prepare: Prepare, made: Callable[[int], Any], good: float) -> float:
    given = [made(size * times) for times in SIZES]
    best = [float("inf")] * len(SIZES)
    ratio = float("inf")
    for _ in range(TRIES):
        best = [min(least, seconds_of(prepare, each)) for least, each in zip(best, given, strict=True)]
        each_unit = [seconds / times for seconds, times in zip(best, SIZES, strict=True)]
        ratio = each_unit[-1] / min(each_unit[:-1])
        if ratio < good:
            break
    return ratio


def checks(folder: Path) -> Iterator[tuple[str, Prepare, Callable[[int], Any], float]]:
    points = entry_points()
    for kind, text in TEXTS.items():
        for point, (prepare, turned) in points.items():
            yield f"{kind}: {point}", prepare, lambda size, text=text, turned=turned: turned(text(size)), SECONDS
    for kind, (name, content, write) in FILES.items():

        def file_of(size: int, name: str = name, content: str = content, write: Any = write) -> Path:
            place = folder / f"{size}"
            place.mkdir(exist_ok=True)
            write(place / name, TEXTS[content](size))
            return place / name

        for point, work in of_files(name in ("a.npy", "a.bin")).items():
            yield f"file of {kind}: {point}", always(work), file_of, SECONDS_OF_FILES


def main(wanted: list[str]) -> int:
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, prepare, made, enough in checks(Path(folder)):
            if all(word in name for word in wanted):
                ratios[name] = ratio_to_linear(prepare, made, enough)
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        print(f"{ratio:6.2f}  {name}")
    too_long = sum(ratio > MOST for ratio in ratios.values())
    print(f"{too_long} of {len(ratios)} take more than {MOST} times as long as linear work", file=sys.stderr)
    return int(too_long > 0 or not ratios)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
