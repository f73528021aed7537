"""Check on generated texts, many of them nasty, that everything that encodes gives the same: one text and batches,
one thread and four, lists and arrays, offsets, counts and bytes; that offsets are in order and in the text; that
lossless texts come back, with dropout and token by token, too; of some texts also that plain Python gives the
same.

python scripts/check_texts.py [--texts 100000] [--reference 2000] [--seed N] [--processes 1] [--model MODEL]...

Models: names or directories, or `small` for small ones of every kind that are trained first (default: small, en,
en-uncased). The package is used as it is installed, for example with a core that has sanitizers.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from treetok import TreeTokenizer
from treetok.native import SWITCH, why_not_native
from treetok.reference_encoder import ReferenceEncoder

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "sample_text").glob("*.txt"))]
SAMPLE_WORDS = " ".join(SAMPLE).split(" ")
TEXTS_AT_ONCE = 250
DROPOUT = 0.3
# What decides where words end, and how letters change.
DECISIVE = [
    *"aZzAéÉßẞΣσςİıſǅ ſ\t\n\r\x0b\x1c\x85\xa0\u2028\u3000 ''’’0123456789٣४Ⅻ½²_-.,;@#*/\x00",
    *"\u0301\u0345\u20e3\ufe0f",
    *"\u200c\u200d\u2060\ufeff中国カなーไทยລາວខမ한글ع\u064bשּׁक\u094d\u0903🇩🇪👩👍🏽❤©→ℹ\U000e0067\U0010ffff\ufdd0\ufffd",
    *(
        "  ",
        "\n\n",
        "\r\n",
        "'s",
        "'LL",
        "’d_",
        "'ſ",
        "123",
        "1234567",
        "HTMLParser",
        "camelCase",
        " the",
        " of",
        "URLs",
    ),
    *(
        "<|endoftext|>",
        "<|pad|>",
        "[UNK]",
        "<s>",
        "<join>",
        "<0xE4>",
        "👩\u200d❤\ufe0f\u200d👩",
        "1\ufe0f\u20e3",
        "a" * 65,
    ),
]


def near_borders(rng: random.Random) -> str:
    return "".join(rng.choices(DECISIVE, k=rng.randint(0, 30)))


def any_characters(rng: random.Random) -> str:
    limit = rng.choice((0x80, 0x250, 0x3100, 0xD800, 0x110000))
    codes = (rng.randrange(limit) for _ in range(rng.randint(0, 20)))
    return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


def one_block(rng: random.Random) -> str:
    """Neighbours in Unicode: letters of one script, with its marks and digits."""
    start = rng.choice((rng.randrange(0x80, 0xD780), rng.randrange(0xE000, 0x32000)))
    letters = "".join(chr(rng.randrange(start, start + 64)) for _ in range(rng.randint(1, 20)))
    return letters if rng.random() < 0.5 else " ".join((letters[:5], letters[5:].upper(), letters.title()))


def long_run(rng: random.Random) -> str:
    unit = "".join(rng.choices(DECISIVE, k=rng.randint(1, 3)))
    return unit * rng.choice((2, 3, 7, 8, 9, 21, 22, 63, 64, 65, 66, 90)) + rng.choice(DECISIVE)


def running_text(rng: random.Random) -> str:
    at = rng.randrange(len(SAMPLE_WORDS))
    words = SAMPLE_WORDS[at : at + rng.randint(1, 30)]
    for _ in range(rng.randint(0, 3)):
        change: Callable[[str], str] = rng.choice((str.upper, str.title, str.swapcase, lambda word: word + "'S"))
        where = rng.randrange(len(words))
        words[where] = change(words[where])
    if rng.random() < 0.3:
        words.insert(rng.randint(0, len(words)), rng.choice(DECISIVE))
    return rng.choice((" ", " ", "  ", "\n")).join(words)


def new_words(rng: random.Random) -> str:
    return " ".join(
        "".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randint(1, 24))) for _ in range(rng.randint(1, 4))
    )


def ascii_blocks(rng: random.Random) -> str:
    """Long enough for several of the blocks that ASCII text is split by."""
    parts = (
        "the",
        " of",
        "aB",
        "A",
        "7",
        "1998",
        "...",
        "_",
        "'",
        "'s",
        "'d_",
        " ",
        "   ",
        "\n",
        " \n \n",
        "\t",
        "é",
        "’t",
    )
    return "".join(rng.choices(parts, k=rng.randint(20, 70)))


KINDS = [
    near_borders,
    near_borders,
    any_characters,
    one_block,
    long_run,
    running_text,
    running_text,
    new_words,
    ascii_blocks,
]


def generated(rng: random.Random, count: int) -> list[str]:
    return [rng.choice(KINDS)(rng) for _ in range(count)]


def small_models() -> dict[str, TreeTokenizer]:
    """One of every kind, quickly trained."""
    files = sorted((ROOT / "sample_text").glob("*.txt"))
    made = {}
    for profile in ("lossless", "uncased"):
        for vocab in ("default", "paper"):
            options = {} if vocab == "default" else {"vocab": vocab}
            made[f"small {profile} {vocab}"] = TreeTokenizer.train(
                files, 1200, "counts", profile, progress=False, **options
            )
    return made


def models_of(names: list[str]) -> dict[str, TreeTokenizer]:
    """With all versions of their profiles."""
    made: dict[str, TreeTokenizer] = {}
    for name in names:
        of_name = small_models() if name == "small" else {name: TreeTokenizer.load(name)}
        for kind, tokenizer in of_name.items():
            for version in tokenizer.state.text_profile.versions:
                state = replace(tokenizer.state, profile_version=version)
                made[f"{kind}, version {version}"] = TreeTokenizer(state)
    return made


class Failure(Exception):
    """What does not hold, and of which text."""


def check(holds: bool, what: str, texts: object) -> None:
    if not holds:
        raise Failure(f"{what}: {texts!r}")


def check_native(tok: TreeTokenizer, texts: list[str], seed: int) -> None:
    """All ways to encode these texts. They are told apart where some way differs."""
    alone = [tok.encode(text) for text in texts]
    for threads in (1, 4):
        batch = tok.encode_batch(texts, threads=threads)
        for text, one, other in zip(texts, alone, batch, strict=True):
            check(one == other, f"encode_batch with {threads} threads differs from encode", text)
    flat, starts = tok.encode_flat(texts, threads=4)
    check(flat.tolist() == [number for ids in alone for number in ids], "encode_flat differs from encode", texts)
    counts = list(map(len, alone))
    check(np.diff(starts).tolist() == counts, "the offsets of encode_flat are not the lengths", texts)
    check(tok.count_tokens(texts) == counts, "count_tokens differs from encode", texts)
    check_offsets(tok, texts, alone)
    is_lossless = tok.profile == "lossless"
    sampled = tok.encode_batch(texts, dropout=DROPOUT, seed=seed)
    again = tok.encode_batch(texts, dropout=DROPOUT, seed=seed, threads=4)
    for text, ids, sample, other in zip(texts, alone, sampled, again, strict=True):
        decoded = tok.decode(ids)
        check(not is_lossless or decoded == text, "the text does not come back", text)
        check(sample == other, "samples differ with four threads", text)
        check(not is_lossless or tok.decode(sample) == text, "the text does not come back from a sample", text)
        stream = tok.decode_stream()
        check("".join(map(stream.step, ids)) + stream.finish() == decoded, "decode_stream differs", text)
    joined = " \n".join(texts)
    native = tok._encoder
    check(native.encode_utf8(joined.encode(), 2).tolist() == tok.encode(joined), "encode_utf8 differs", joined)


def check_offsets(tok: TreeTokenizer, texts: list[str], alone: list[list[int]]) -> None:
    is_lossless = tok.profile == "lossless"
    for text, ids, encoding in zip(texts, alone, tok.encode_batch_with_offsets(texts, threads=4), strict=True):
        check(encoding.ids == ids, "encode_with_offsets differs from encode", text)
        before = 0
        for start, end in encoding.offsets:
            is_next = start == before if is_lossless else start >= 0
            check(is_next and start <= end <= len(text), "offsets are not in order or not in the text", text)
            before = end
        check(not is_lossless or before == len(text), "offsets do not cover the text", text)
        starts = [start for start, _ in encoding.offsets]
        check(starts == sorted(starts), "offsets are not in order", text)


def check_reference(tok: TreeTokenizer, reference: ReferenceEncoder, texts: list[str], seed: int) -> None:
    os.environ[SWITCH] = "0"
    try:
        expected = reference.encode_with_offsets(texts, 1)
        # Sampling takes plain Python long.
        few = texts[: len(texts) // 10]
        sampled = reference.encode_sampled(few, 1, 1 << 51, seed)
    finally:
        del os.environ[SWITCH]
    found = tok._encoder.encode_with_offsets(texts, 1)
    if not all(map(np.array_equal, found, expected)):
        for text in texts:
            one, other = tok._encoder.encode_with_offsets([text], 1), reference.encode_with_offsets([text], 1)
            check(all(map(np.array_equal, one, other)), "plain Python differs", text)
        raise Failure(f"plain Python differs, in these texts together: {texts!r}")
    check(tok._encoder.encode_sampled(few, 1, 1 << 51, seed) == sampled, "samples of plain Python differ", few)
    separator = tok.state.text_profile.separator
    for text in texts:
        ids = tok.encode(text)
        ids += ids[::-1]
        check(
            tok._encoder.decode(ids, False, separator) == reference.decode(ids, False, separator), "decoding", text
        )


def run(names: list[str], texts: int, with_reference: int, seed: int) -> str:
    """Checks so many texts, each with one of the models; what failed, or nothing."""
    rng = random.Random(seed)
    models = models_of(names)
    references = {name: ReferenceEncoder(tok.state) for name, tok in models.items()}
    turns = list(models)
    for what, left in (("native", texts), ("reference", with_reference)):
        number = 0
        while left > 0:
            name = turns[number % len(turns)]
            batch = generated(rng, min(TEXTS_AT_ONCE, left))
            try:
                if what == "native":
                    check_native(models[name], batch, seed)
                else:
                    check_reference(models[name], references[name], batch, seed)
            except Failure as failure:
                return f"{name}: {failure}"
            left -= len(batch)
            number += 1
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument(
        "--reference", type=int, default=2_000, help="of how many further texts plain Python is asked"
    )
    parser.add_argument("--seed", type=int, help="default: a new one")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--model", action="append", dest="models")
    options = parser.parse_args()
    if (reason := why_not_native()) is not None:
        sys.exit(f"there is no native core: {reason}")
    names = options.models or ["small", "en", "en-uncased"]
    seed = options.seed if options.seed is not None else secrets.randbelow(1 << 31)
    print(f"seed {seed}", flush=True)
    start, processes = time.perf_counter(), options.processes
    shares = [len(range(number, options.texts, processes)) for number in range(processes)]
    of_reference = [len(range(number, options.reference, processes)) for number in range(processes)]
    seeds = [seed + number for number in range(processes)]
    if processes == 1:
        failures = [run(names, options.texts, options.reference, seed)]
    else:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            failures = list(pool.map(run, [names] * processes, shares, of_reference, seeds))
    seconds = time.perf_counter() - start
    if found := [failure for failure in failures if failure]:
        sys.exit("\n".join(found))
    print(f"{options.texts} texts, {options.reference} more beside plain Python: all equal ({seconds:.0f} s)")


if __name__ == "__main__":
    main()
