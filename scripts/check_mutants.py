"""Damage saved tokenizers in many ways, as strangers might, load and use what comes out, and report misbehaviour.

A mutant must load and work, or be refused with a TreetokError. To work is: the native core and plain Python agree
on ids, offsets, samples and decoded text, a lossless tokenizer gives the text back, and what is saved loads again.
Refused or not, a mutant may take at most a second of CPU time and 100 MB of memory, and nothing that lies outside
of its directory may come out of it. Checksums are mostly made to match, so that the code behind them is reached.

    python scripts/check_mutants.py 30000 --processes 2
    python scripts/check_mutants.py --only 1234

The second repeats mutant 1234, with the same --seed.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import io
import json
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from treetok import TreeTokenizer, TreetokError
from treetok.cli import info
from treetok.native import SWITCH, why_not_native
from treetok.sources import ParserTrees
from treetok.sources.parser import expected_shapes, with_rounded_tables
from treetok.storage.format import CARD, HEAD, VOCABULARY

SAMPLE = (
    "The unwalked walkers walked, JUMPING über  1234567 東京 👩‍💻s.\n\tLooks like<|endoftext|> jumpers' x"
    + "y" * 70
)
WORDS = {stem + ending: 5 for stem in (" walk", " jump", "look") for ending in ("", "s", "ed", "ing", "er")}
CHARACTERS, MORPHEMES = list("abcdefghijklmnopqrstuvwxyzß"), ["ed", "er", "ing", "jump", "un", "walk"]
# What must not appear in anything that is made of a mutant.
SECRET = "the content of a file that lies elsewhere"
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
ADDRESS_SPACE = 4 << 30
MOST_SECONDS, MOST_CPU_SECONDS, MOST_MEGABYTES = 5, 1, 100
LONG_NUMBER = "a number of 5000 digits"
EDGES = [0, 1, -1, 2, 63, 64, 65, 127, 128, 255, 256, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1 << 64, 10**30]
NUMBERS: list[Any] = [*EDGES, LONG_NUMBER, 0.5, -0.0, 1e308, float("nan"), float("inf"), True, None, "1", [], {}]
BYTES = [0, 1, 2, 9, 10, 34, 63, 64, 65, 92, 97, 127, 128, 192, 237, 244, 255]
NAMES = [
    "<s>",
    "<s><s>",
    "\0",
    "\x1b[2J",
    "<join>",
    "<0x80>",
    " walk",
    "",
    "a",
    "\ud800",
    "\u202e",
    "x" * 2000,
    "[UNK]",
]
TOKENS = [
    *NAMES,
    "\\x80",
    "\\xc0",
    "\\x7f",
    "\\join",
    "\\cap",
    "\\upper",
    "\\ud800",
    "\\U00110000",
    "\\",
    "\\z",
    "\r",
]
TOKENS += [" Aßéſİσς", "walking", "\u0301", "x" * 70, "  ", "\t", "y" * 100_000]
COUNTS = ["0", "1", "-1", "1e5", "٣", "", "9" * 18, "9" * 19, "0" * 40, "5\t5", " 5", "9" * 5000]
KINDS = ["U8", "I8", "U16", "I32", "U64", "I64", "F16", "F32", "F64", "BOOL", "BF16", "u8", "", None, 8, ["U8"]]

Files = dict[str, bytes]


def parser_trees(rng: np.random.Generator) -> ParserTrees:
    """A parser that learned nothing."""
    sizes = {"last_norm.weight": (8,), "pair_hidden.bias": (12,), "place_from_start": (5, 8)}
    some = {name: np.zeros(shape) for name, shape in sizes.items()} | {"layers.0.qkv.weight": np.zeros(0)}
    shapes = expected_shapes(some, 2, len(CHARACTERS), len(MORPHEMES))
    weights = {name: rng.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    return ParserTrees(weights, 2, CHARACTERS, MORPHEMES)


def small_models(folder: Path) -> list[Files]:
    """The files of small tokenizers of every kind."""
    parser = parser_trees(np.random.default_rng(0))
    integers = ParserTrees(with_rounded_tables(parser.weights), parser.heads, CHARACTERS, MORPHEMES)
    of_all: list[dict[str, Any]] = [
        {"vocab_size": 285, "trees": "counts", "profile": "lossless"},
        {"vocab_size": 45, "trees": "counts", "profile": "uncased"},
        {"vocab_size": 285, "trees": parser, "profile": "lossless"},
        {"vocab_size": 45, "trees": integers, "profile": "uncased"},
    ]
    models = []
    for number, options in enumerate(of_all):
        TreeTokenizer.train(WORDS, progress=False, **options).save(folder / str(number))
        models.append({path.name: path.read_bytes() for path in (folder / str(number)).iterdir()})
    return models


# ---- damage


def damaged_bytes(rng: random.Random, content: bytes) -> bytes:
    """A few bytes flipped, replaced, removed, added or repeated."""
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randint(0, len(damaged)), rng.choice([0, 1, 1, 1, 2, 8, 40, 1000])
        how = rng.randrange(5)
        if how == 0 and damaged:
            damaged[min(at, len(damaged) - 1)] ^= 1 << rng.randrange(8)
        elif how == 1:
            damaged[at : at + size] = bytes(rng.choice(BYTES) for _ in range(size))
        elif how == 2:
            del damaged[at : at + size]
        elif how == 3:
            damaged[at:at] = damaged[at : at + size] * rng.randint(1, 3)
        else:
            del damaged[at:]
    return bytes(damaged)


def anything(rng: random.Random, depth: int = 0) -> Any:
    """A value that JSON can hold, though perhaps not UTF-8."""
    if depth < 3 and rng.random() < 0.3:
        items = [anything(rng, depth + 1) for _ in range(rng.randint(0, 3))]
        return items if rng.random() < 0.5 else {rng.choice(NAMES): item for item in items}
    return rng.choice([*NUMBERS, *NAMES])


def written(rng: random.Random, value: dict[str, Any]) -> bytes:
    """JSON, sometimes of a kind that should not be."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    # Python would refuse to write a number this long.
    text = text.replace(f'"{LONG_NUMBER}"', "9" * 5000)
    how = rng.randrange(14)
    if how == 0:
        text = added_somewhere(rng, text, "{", '"x": ' + "[" * 10 ** rng.randint(1, 5))
    elif how == 1:
        nested = rng.choice(["[", '{"a":']) * (depth := rng.choice([10, 60, 70, 500, 900, 990, 5000]))
        text = added_somewhere(rng, text, "{", '"x": ' + nested + "1" + ("]" if nested[0] == "[" else "}") * depth)
    elif how == 2 and value:
        key = rng.choice(sorted(value))
        text = text[:-1] + f", {json.dumps(key)}: {json.dumps(anything(rng))}" + "}"
    elif how == 3:
        text = text + " " * rng.choice([1, 7, 10**4, 10**6])
    elif how == 4:
        text = added_somewhere(rng, text, "[", "9" * rng.choice([19, 41, 4300, 4301, 10**5]))
    return text.encode("utf-8", "surrogatepass")


def added_somewhere(rng: random.Random, text: str, opened: str, item: str) -> str:
    """JSON with one more item in one of its objects or lists."""
    at = rng.choice([place for place, character in enumerate(text) if character == opened] or [0]) + 1
    return text[:at] + item + ("" if text[at : at + 1] in "]}" else ", ") + text[at:]


def header_of(content: bytes) -> tuple[dict[str, Any], bytes]:
    start = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:start]), content[start:]


def with_header(header: bytes, data: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header + data


def damaged_header(rng: random.Random, content: bytes) -> bytes:
    """Other shapes, types, places and names of arrays."""
    header, data = header_of(content)
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(sorted(header))
        entry = header[name] if isinstance(header[name], dict) else {}
        how = rng.randrange(11)
        if how == 0:
            entry["dtype"] = rng.choice(KINDS)
        elif how == 1:
            entry["shape"] = [rng.choice(NUMBERS) for _ in range(rng.randint(0, 4))]
        elif how == 2:
            # The product of these is a number of many digits.
            entry["shape"] = [9999999999999999999] * rng.choice([3, 65, 1000, 1000, 40_000])
        elif how == 3:
            entry["data_offsets"] = [rng.choice([*NUMBERS, len(data)]) for _ in range(rng.choice([1, 2, 2, 2, 3]))]
        elif how == 4 and isinstance(entry.get("shape"), list):
            entry["shape"] = rng.choice([[*entry["shape"], 1], [1, *entry["shape"]], entry["shape"][::-1]])
        elif how == 5:
            other = header[rng.choice(sorted(header))]
            header[name] = copy.deepcopy(other) if rng.random() < 0.5 else anything(rng)
        elif how == 6:
            header[rng.choice([*NAMES, "__metadata__", "layers.1.qkv.weight", "text", "extra"])] = header.pop(name)
        elif how == 7:
            del header[name]
        elif how == 8:
            empty = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
            header |= {f"{rng.choice(NAMES)}{n}": dict(empty) for n in range(rng.choice([1, 100, 2000]))}
        elif how == 9:
            header["__metadata__"] = anything(rng)
        else:
            entry[rng.choice([*entry, "extra"])] = anything(rng)
        if not header:
            break
    return with_header(written(rng, header), data)


def damaged_arrays(rng: random.Random, content: bytes) -> bytes:
    """Other values or lengths in arrays that are valid safetensors."""
    header, data = header_of(content)
    arrays = {name: bytearray(data[slice(*entry["data_offsets"])]) for name, entry in header.items()}
    # Letters and lengths decide more than any one of the many weights.
    names = [name for name in sorted(header) if "." not in name] if rng.random() < 0.8 else sorted(header)
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(names)
        values, entry = arrays[name], header[name]
        if len(entry["shape"]) > 2:
            continue
        size = len(values) // max(1, math.prod(entry["shape"]))
        how = rng.randrange(6)
        if how == 0 and entry["shape"]:
            entry["shape"][0] = rng.randint(0, 2 * entry["shape"][0] + 1)
            wanted = min(size * math.prod(entry["shape"]), 1 << 20)
            arrays[name] = (values * (wanted // max(1, len(values)) + 1))[:wanted].ljust(wanted, b"\1")
        elif how == 1 and len(values) >= 2 * size > 0:
            one, other = (size * rng.randrange(len(values) // size) for _ in range(2))
            values[one : one + size], values[other : other + size] = (
                values[other : other + size],
                values[one : one + size],
            )
        elif how == 2 and values:
            # Not a number, infinity, the largest: as 16 bits, or the first of more.
            at = 2 * rng.randrange(max(1, len(values) // 2))
            values[at : at + 2] = rng.choice([b"\0\x7e", b"\0\x7c", b"\xff\x7b", b"\xff\xff", b"\0\0", b"\1\0"])[
                : len(values) - at
            ]
        elif values:
            for _ in range(rng.randint(1, 4)):
                values[rng.randrange(len(values))] = rng.choice(BYTES)
    at, joined = 0, b""
    for name, entry in header.items():
        entry["data_offsets"] = [at, at + len(arrays[name])]
        at, joined = at + len(arrays[name]), joined + bytes(arrays[name])
    return with_header(json.dumps(header).encode(), joined)


def damaged_vocabulary(rng: random.Random, content: bytes) -> bytes:
    lines = content.decode().split("\n")[:-1]
    for _ in range(rng.randint(1, 4)):
        at, how = rng.randrange(len(lines)), rng.randrange(6)
        if how < 3:
            # A token of its own is often accepted.
            token = "".join(rng.choices(" walkingéßÉ東ed", k=rng.randint(1, 6))) if how else rng.choice(TOKENS)
            lines.insert(at, f"{token}\t{rng.choice(COUNTS[:2] if how else COUNTS)}")
        elif how == 3:
            lines[at] = lines[at].split("\t")[0] + "\t" + rng.choice(COUNTS)
        elif how == 4:
            del lines[at]
        else:
            lines[at], lines[-1] = lines[-1], lines[at]
        if not lines:
            break
    if rng.random() < 0.02:
        lines += [f"{n:x}\t0" for n in range(50_000)]
    ends = rng.choice(["\n"] * 20 + ["\r\n", "\n\n", "\u2028"])
    return (ends.join(lines) + rng.choice(["\n"] * 20 + ["", "\0", "\n\n"])).encode("utf-8", "surrogatepass")


def damaged_head(rng: random.Random, content: bytes) -> bytes:
    head = json.loads(content)
    specials = head["special_tokens"]
    size = len(specials)
    for _ in range(rng.randint(1, 2)):
        how = rng.randrange(9)
        if how == 0:
            head[rng.choice(sorted(head))] = anything(rng)
        elif how == 1:
            specials[rng.choice(NAMES)] = rng.choice([*NUMBERS, size, 5, 300])
        elif how == 2:
            # As if they had been added.
            largest = max((n for n in specials.values() if type(n) is int), default=0)
            for n in range(rng.choice([1, 2, 9, 3000])):
                name = rng.choice(["<{}>", "{0}{0}", "<|{}", "a" * 20 + "{}"]).format(n)
                specials.setdefault(name, largest + len(specials) - size + rng.choice([0] * 99 + [1]))
        elif how == 3:
            head["roles"] = {
                rng.choice(["eos", "unk", "pad", "x"]): rng.choice([*NAMES, *NUMBERS]) for _ in range(2)
            }
        elif how == 4:
            head["settings"] = {rng.choice(NAMES): anything(rng) for _ in range(3)}
        elif how == 5:
            head["profile"], head["profile_version"] = (
                rng.choice(["lossless", "uncased", "x"]),
                rng.choice([1, 2, 3, True]),
            )
        elif how == 6:
            head["normalizer"] = rng.choice(["nfc", "nfkc", "nfd", [], {}])
        elif how == 7:
            head["format"] = rng.choice([1, 2, 3, 4, *NUMBERS])
        else:
            head["trees"] = rng.choice(["counts", "neural", "custom", [], "x"])
        if not isinstance(specials := head.get("special_tokens"), dict):
            break
    if rng.random() < 0.2 and isinstance(head.get("files"), dict) and head["files"]:
        name = rng.choice(sorted(head["files"]))
        key = rng.choice(["bytes", "sha256", "shared", "extra"])
        value = rng.choice([*NUMBERS, "../../secret", "/etc/hostname", "..", HEAD])
        head["files"][rng.choice([name] * 9 + ["../secret", CARD, HEAD])] = {**head["files"][name], key: value}
    return written(rng, head)


def linked(rng: random.Random, directory: Path, name: str, secret: Path) -> None:
    """Put something in the place of a file that is not a file of the directory."""
    path = directory / name
    content = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    how = rng.randrange(9)
    if how == 0:
        os.mkfifo(path)
    elif how == 1:
        path.mkdir()
    elif how == 2:
        # A file like the one that was there, beside it: this may be followed.
        path.with_name("beside").write_bytes(content)
        path.symlink_to("beside")
    elif how == 3:
        secret.with_name("copy").write_bytes(content)
        path.symlink_to(rng.choice(["../copy", secret.with_name("copy")]))
    else:
        devices = ["/dev/zero", "/dev/null", "/dev/tty", "/proc/self/mem", "/proc/self/environ", "/etc/hostname"]
        path.symlink_to(rng.choice([secret, "../secret", name, "nothing", ".", "..", *devices]))


def write_mutant(rng: random.Random, models: list[Files], directory: Path, secret: Path) -> str:
    """Write a mutant to an empty directory; returns what was done, in words."""
    files = dict(rng.choice(models))
    did = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        arrays = rng.choice([name for name in files if name.endswith(".safetensors")] or [VOCABULARY])
        how: Callable[[random.Random, bytes], bytes]
        name, how = rng.choice(
            [
                (rng.choice(sorted(files)), damaged_bytes),
                (arrays, damaged_header),
                (arrays, damaged_header),
                (arrays, damaged_arrays),
                (arrays, damaged_arrays),
                (arrays, damaged_arrays),
                (VOCABULARY, damaged_vocabulary),
                (HEAD, damaged_head),
                (HEAD, damaged_head),
                (rng.choice(sorted(files)), swapped(models)),
            ]
        )
        # What was damaged before may be unreadable for another kind of damage.
        try:
            files[name] = how(rng, files[name])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError):
            files[name] = damaged_bytes(rng, files[name])
            how = damaged_bytes
        did.append(f"{how.__name__} {name}")
    if rng.random() < 0.9:
        did.append("checksums")
        files = with_checksums(files)
    for name, content in files.items():
        directory.joinpath(name).write_bytes(content)
    if rng.random() < 0.1:
        name = rng.choice([*files, CARD, CARD])
        linked(rng, directory, name, secret)
        did.append(f"link {name}")
    return ", ".join(did)


def swapped(models: list[Files]) -> Callable[[random.Random, bytes], bytes]:
    def swapped_file(rng: random.Random, content: bytes) -> bytes:
        other = rng.choice(models)
        return other[rng.choice(sorted(other))]

    return swapped_file


def with_checksums(files: Files) -> Files:
    """The same files, with what treetok.json says about them made true, where it can still be read."""
    head = files[HEAD]
    for name, content in files.items():
        found = re.search(rb'"%b":\s*{[^{}]*}' % re.escape(name.encode()), head)
        if found and b'"shared"' not in found[0] and b'"extra"' not in found[0]:
            entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            head = head[: found.start()] + f'"{name}": {json.dumps(entry)}'.encode() + head[found.end() :]
    return files | {HEAD: head}


# ---- use


class Misbehaviour(Exception):
    """What a mutant must not do."""


def loaded(directory: Path, native: bool) -> TreeTokenizer | TreetokError:
    os.environ[SWITCH] = "1" if native else "0"
    try:
        return TreeTokenizer.load(directory)
    except TreetokError as error:
        if CONTROLS.search(str(error)):
            raise Misbehaviour(f"the error has control characters: {str(error)!r}") from None
        return error


def uses(tokenizer: TreeTokenizer) -> Iterator[Any]:
    """What it does with text and ids. Each may also be refused."""
    size = tokenizer.vocab_size
    some = [*range(min(size, 400)), *range(max(0, size - 30), size)]
    for use in (
        lambda: tokenizer.encode(SAMPLE),
        lambda: tokenizer.encode(SAMPLE + "".join(list(tokenizer.special_tokens)[:20]), allowed_special="all"),
        lambda: tokenizer.encode_with_offsets(SAMPLE[:60]),
        lambda: tokenizer.encode(SAMPLE[:60], dropout=0.3, seed=5),
        lambda: tokenizer.decode(some) if size else "",
        lambda: tokenizer.decode(tokenizer.encode(SAMPLE), skip_special_tokens=True),
        lambda: (tokenizer.tree("unwalkable").brackets(), tokenizer.segment("unwalkable")),
    ):
        try:
            yield use()
        except TreetokError:
            yield TreetokError


def check_use(directory: Path, again: Path) -> str:
    """Load and use a mutant; returns whether it "works" or is "refused". Raises Misbehaviour and anything else."""
    native = loaded(directory, native=True)
    reference = loaded(directory, native=False)
    if isinstance(native, TreetokError) or isinstance(reference, TreetokError):
        if not (isinstance(native, TreetokError) and isinstance(reference, TreetokError)):
            raise Misbehaviour(f"the native core and plain Python disagree: {native!r}, {reference!r}")
        return "refused"
    if native.state.entries != reference.state.entries:
        raise Misbehaviour("the native core reads another vocabulary than plain Python")
    results = list(uses(native))
    for number, (one, other) in enumerate(zip(results, uses(reference), strict=True)):
        if one != other:
            raise Misbehaviour(f"use {number}: the native core gives {one!r:.300}, plain Python {other!r:.300}")
    is_lossless = native.profile == "lossless" and not native.state.normalizer and results[0] is not TreetokError
    if is_lossless and native.decode(results[0]) != SAMPLE:
        raise Misbehaviour("text is not decoded as it was encoded")
    os.environ[SWITCH] = "1"
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        info.run(argparse.Namespace(model=str(directory)))
    if any(CONTROLS.search(line) for line in shown.getvalue().split("\n")):
        raise Misbehaviour(f"control characters are shown: {shown.getvalue()!r}")
    native.save(again)
    for path in again.iterdir():
        if SECRET.encode() in path.read_bytes():
            raise Misbehaviour(f"what was saved has text from elsewhere, in {path.name}")
    if list(uses(TreeTokenizer.load(again)))[:2] != results[:2]:
        raise Misbehaviour("what was saved does something else")
    return "works"


def peak_megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


class Mutants:
    """Makes and tries mutants by number, in a folder of its own."""

    def __init__(self, models: list[Files], seed: int, folder: Path) -> None:
        self.models, self.seed = models, seed
        self.directory, self.again, self.secret = folder / "mutant", folder / "again", folder / "secret"
        self.secret.write_text(SECRET, encoding="utf-8")
        self.directory.mkdir()
        # Imports and tables that are made once are not the mutants' doing.
        for model in models:
            self._clear()
            for name, content in model.items():
                self.directory.joinpath(name).write_bytes(content)
            if check_use(self.directory, self.again) != "works":
                raise SystemExit("a tokenizer that is not damaged is refused")
        self.peak = peak_megabytes()

    def _clear(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.again, ignore_errors=True)
        self.directory.mkdir()

    def check(self, number: int, written: Callable[[], object] = lambda: None) -> tuple[str, str]:
        """What a mutant did, and what is wrong with that, or nothing. Calls `written` before it is loaded."""
        self._clear()
        did = write_mutant(random.Random(f"{self.seed} {number}"), self.models, self.directory, self.secret)
        written()
        # Making it may have taken more memory than using it does.
        start, before = time.process_time(), peak_megabytes()
        try:
            with warnings.catch_warnings(action="error"):
                result, wrong = check_use(self.directory, self.again), ""
        except Misbehaviour as error:
            result, wrong = "wrong", str(error)
        except BaseException as error:
            trace = "".join(traceback.format_exception(error)[-3:])
            result, wrong = "wrong", f"{type(error).__name__}: {trace}"
        seconds, peak = time.process_time() - start, peak_megabytes()
        if seconds > MOST_CPU_SECONDS:
            wrong += f" it took {seconds:.1f} seconds of CPU time"
        if peak > before + MOST_MEGABYTES:
            wrong += f" it took {peak - before:.0f} MB of memory"
        self.peak = peak
        return "wrong" if wrong else result, f"{did}: {wrong}" if wrong else ""


# ---- processes


class Work:
    """What a process is doing, in memory that it shares with the one that watches it."""

    def __init__(self) -> None:
        self.number = multiprocessing.Value("q", 0)
        # When it began with that number; 0 while there is nothing to be waited for.
        self.since = multiprocessing.Value("d", 0.0)
        self.works, self.refused = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
        self.peak = multiprocessing.Value("d", 0.0)
        self.is_done = multiprocessing.Event()
        self.reports: Any = multiprocessing.SimpleQueue()

    def begin(self) -> None:
        self.since.value = time.monotonic()


def work(models: list[Files], options: argparse.Namespace, folder: Path, first: int, shared: Work) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    # No core files of crashes.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mutants = Mutants(models, options.seed, Path(tempfile.mkdtemp(dir=folder)))
    for at in range(first, options.count, options.processes):
        shared.number.value, shared.since.value = at, 0
        result, wrong = mutants.check(at, shared.begin)
        if wrong:
            shared.reports.put((at, wrong))
        else:
            (shared.works if result == "works" else shared.refused).value += 1
        shared.peak.value = mutants.peak
    shared.since.value = 0
    shared.is_done.set()


def fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Worker:
    """A process that tries every so many of the mutants. If one kills it, or hangs, another process goes on."""

    def __init__(self, models: list[Files], options: argparse.Namespace, folder: Path, first: int) -> None:
        self.models, self.options, self.folder, self.shared = models, options, folder, Work()
        # The mutant at which a process ended.
        self.ended_at = -1
        self._start(first)

    def _start(self, first: int) -> None:
        self.shared.number.value, self.shared.since.value = first, 0
        arguments = (self.models, self.options, self.folder, first, self.shared)
        self.process = multiprocessing.Process(target=work, args=arguments)
        self.process.start()

    def reports(self) -> Iterator[tuple[int, str]]:
        """The mutants that misbehaved since the last call."""
        since = self.shared.since.value
        if since and time.monotonic() - since > MOST_SECONDS:
            self.process.kill()
        ended = not self.process.is_alive()
        while not self.shared.reports.empty():
            yield self.shared.reports.get()
        if ended and not self.shared.is_done.is_set():
            at = self.shared.number.value
            # On a busy machine it may have waited for others: it is tried again.
            if at == self.ended_at:
                yield (
                    at,
                    f"the process ended with exit code {self.process.exitcode}, or took {MOST_SECONDS} seconds",
                )
            self._start(at + self.options.processes if at == self.ended_at else at)
            self.ended_at = at


def check_all(options: argparse.Namespace, folder: Path) -> bool:
    models = small_models(folder)
    start = time.monotonic()
    workers = [Worker(models, options, folder, first) for first in range(options.processes)]
    misbehaved = 0
    are_done = False
    while not are_done:
        are_done = all(worker.shared.is_done.wait(0.1) for worker in workers)
        for worker in workers:
            for number, what in worker.reports():
                print(f"mutant {number} (--seed {options.seed}): {what}", flush=True)
                misbehaved += 1
    for worker in workers:
        worker.process.join()
    seconds = time.monotonic() - start
    cpu_seconds = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    works, refused = (
        sum(getattr(worker.shared, name).value for worker in workers) for name in ("works", "refused")
    )
    print(
        f"{options.count} mutants in {seconds:.0f} s, {options.count / cpu_seconds:.0f} per second of CPU time:"
        f" {works} work, {refused} are refused, {misbehaved} misbehave; peak"
        f" {max(worker.shared.peak.value for worker in workers):.0f} MB"
    )
    return not misbehaved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=10_000, metavar="N", help="default: 10000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1, metavar="P")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one mutant")
    options = parser.parse_args()
    if why_not_native() is not None:
        sys.exit(f"check_mutants.py compares the native core with plain Python, but {why_not_native()}")
    with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
        folder = Path(name)
        if options.only is None:
            sys.exit(0 if check_all(options, folder) else 1)
        models = small_models(folder)
        (folder / "own").mkdir()
        print(*Mutants(models, options.seed, folder / "own").check(options.only), sep=": ")


if __name__ == "__main__":
    main()
