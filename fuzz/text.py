"""Any text and any ids: the native core gives what plain Python gives. The first byte chooses the tokenizer, the
second what is tried beside encoding, the third a seed."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import atheris
import atheris_target

with atheris_target.imports():
    from treetok import TreeTokenizer, TreetokError
    from treetok.native_encoder import native_encoder
    from treetok.reference_encoder import ReferenceEncoder

import numpy as np
from small_models import plain_python, trained

# Characters that decide where words end, and what is written in capitals.
PIECES = [
    *(
        "a",
        "z",
        "A",
        "Z",
        "\u00e9",
        "\u00c9",
        "\u00df",
        "\u1e9e",
        "\u03a3",
        "\u03c2",
        "\u03c3",
        "\u0130",
        "\u0131",
    ),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "\x0b",
        "\x1c",
        "\x85",
        "\xa0",
        "\u3000",
        "\u2028",
        "'",
        "'s",
        "'ll",
        "\u2019t",
    ),
    *(
        "0",
        "9",
        "123",
        "1234567",
        "\u0663",
        "\u096a",
        "\u216b",
        "\u00bd",
        "\u00b2",
        "_",
        "-",
        ".",
        ",",
        "@",
        "#",
        "*",
    ),
    *(
        "\0",
        "\u0301",
        "\u0345",
        "\u20e3",
        "\ufe0f",
        "\u200c",
        "\u200d",
        "\u4e2d",
        "\u30ab",
        "\u3099",
        "\u0e44",
        "\ud55c",
    ),
    *(
        "\U0001f1e9",
        "\U0001f1ea",
        "\U0001f469",
        "\U0001f3fd",
        "\u2764",
        "\u00a9",
        "\U000e0067",
        "\U0010ffff",
        "\ufdd0",
    ),
    *(
        "\u01c5",
        "\u0e81",
        "\u0e01",
        "\u1780",
        "\u1000",
        "\u3042",
        "\u30fc",
        "\u3006",
        "\u02b0",
        "\u0903",
        "\U0001f1e9\U0001f1ea\U0001f1e9",
    ),
    *(" walk", "ing", " Jump", "LOOK", "HTMLParser", "<|endoftext|>", "[UNK]", "a" * 65, "9" * 70, " " * 40),
]


class Tokenizer:
    def __init__(self, tokenizer: TreeTokenizer) -> None:
        self.tokenizer, self.state = tokenizer, tokenizer.state
        self.native, self.reference = native_encoder(self.state), ReferenceEncoder(self.state)
        self.specials = sorted(self.state.special_tokens.items(), key=lambda item: -len(item[0]))


def tokenizers() -> list[Tokenizer]:
    found = []
    for tokenizer in trained().values():
        for version in tokenizer.state.text_profile.versions:
            found.append(Tokenizer(TreeTokenizer(replace(tokenizer.state, profile_version=version))))
    state = found[1].state
    return [*found, Tokenizer(TreeTokenizer(replace(state, fewest_tokens=not state.fewest_tokens)))]


TOKENIZERS = tokenizers()


class SmallReads(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, content: bytes, most: int) -> None:
        self._content, self._most = io.BytesIO(content), most

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._content.readinto(buffer[: self._most])


def try_one(data: bytes) -> None:
    chosen, how, seed = (data + bytes(3))[:3]
    one = TOKENIZERS[chosen % len(TOKENIZERS)]
    text = data[3:].decode("utf-8", "surrogatepass" if how == 255 else "replace") if is_text(data[3:], how) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        check_refused(one, text)
        return
    # Threads take long to start.
    check_encoding(one, text, one.specials if how & 1 else None, 4 if how & 16 else 1)
    if how & 2:
        check_samples(one, text, seed)
    if how & 4:
        check_bytes(one, text, seed)
    if how & 8:
        check_decoding(one, data[3:])


def is_text(data: bytes, how: int) -> bool:
    if how != 255:
        return True
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def check_refused(one: Tokenizer, text: str) -> None:
    for call in (one.tokenizer.encode, one.tokenizer.encode_with_offsets, one.tokenizer.segment):
        try:
            call(text)
        except TreetokError:
            continue
        raise AssertionError("a lone surrogate was encoded")


def check_encoding(one: Tokenizer, text: str, specials: list[tuple[str, int]] | None, threads: int) -> None:
    with plain_python():
        words = one.state.text_profile.split(text)
        expected = one.reference.encode_with_offsets([text], 1, specials)
    assert one.native.split(text) == words, f"native words {one.native.split(text)}, in plain Python {words}"
    found = one.native.encode_with_offsets([text], 1, specials)
    for name, native, reference in zip(("ids", "starts", "ends", "words", "texts"), found, expected, strict=True):
        assert np.array_equal(native, reference), f"{name}: native {native}, in plain Python {reference}"
    ids = expected[0].tolist()
    assert one.native.encode(text, specials) == ids
    assert one.native.encode_batch([text, "", text], threads, specials) == [ids, [], ids]
    flat, offsets = one.native.encode_flat([text], 1, specials)
    assert flat.tolist() == ids and offsets.tolist() == [0, len(ids)]
    decoded = one.tokenizer.decode(ids)
    assert one.state.profile != "lossless" or decoded == text, f"decoded {decoded!r}"
    stream = one.tokenizer.decode_stream()
    assert "".join(map(stream.step, ids)) + stream.finish() == decoded


def check_samples(one: Tokenizer, text: str, seed: int) -> None:
    threshold = seed << 45
    sampled = one.native.encode_sampled([text, text], 1, threshold, seed)
    with plain_python():
        expected = one.reference.encode_sampled([text, text], 1, threshold, seed)
    assert sampled == expected, f"native sample {sampled}, in plain Python {expected}"
    assert one.state.profile != "lossless" or all(one.tokenizer.decode(ids) == text for ids in sampled)


def check_bytes(one: Tokenizer, text: str, seed: int) -> None:
    ids = one.native.encode(text)
    assert one.native.encode_utf8(text.encode(), 1).tolist() == ids
    assert one.native.encode_stream(SmallReads(text.encode(), 1 + seed % 40), 1).tolist() == ids


def check_decoding(one: Tokenizer, data: bytes) -> None:
    """A byte each, from the end of the vocabulary, where markers are."""
    size, separator = len(one.state.table), one.state.text_profile.separator
    ids = [size - 1 - byte % size for byte in data]
    for skip in (False, True):
        native = one.native.decode(ids, skip, separator)
        reference = one.reference.decode(ids, skip, separator)
        assert native == reference, f"decoded natively {native!r}, in plain Python {reference!r}"
        stream = one.tokenizer.decode_stream(skip_special_tokens=skip)
        assert stream.extend(ids) + stream.finish() == native


def change(data: bytes, most: int, seed: int) -> bytes:
    rng = random.Random(seed)
    if len(data) < 3 or rng.random() < 0.3:
        return bytes(atheris.Mutate(data, most))
    head, text = bytearray(data[:3]), data[3:].decode("utf-8", "replace")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, how = rng.randint(0, len(text)), rng.random()
        if how < 0.1:
            head[rng.randrange(3)] = rng.randrange(256)
        elif how < 0.6:
            text = text[:at] + rng.choice(PIECES) + text[at + rng.randint(0, 2) :]
        elif how < 0.8:
            # Any character: its classes were made from the same tables, but are looked up in different ways.
            character = chr(
                rng.choice((rng.randrange(0x250), rng.randrange(0xD800), rng.randrange(0xE000, 0x20000)))
            )
            text = text[:at] + character + text[at:]
        elif how < 0.9:
            text = text[:at] + text[at : at + 8] * rng.randint(0, 9) + text[at + 8 :]
        else:
            text = text[:at] + text[at : at + 20].swapcase() + text[at + 20 :]
    return (bytes(head) + text.encode("utf-8", "replace"))[:most]


if __name__ == "__main__":
    atheris_target.run(try_one, change)
