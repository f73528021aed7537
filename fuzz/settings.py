"""Any treetok.json, beside good files: the first byte chooses the tokenizer, the rest is the file. Where sizes and
checksums are null, they are filled in."""

from __future__ import annotations

import json

import atheris
import atheris_target

with atheris_target.imports():
    import treetok.storage.load
    import treetok.tokenizer

from json_changes import changed_json
from small_models import HEAD, Folders, load_and_use

assert treetok
FOLDERS = Folders()
WORDS = [
    *("format", "profile", "profile_version", "normalizer", "trees", "fewest_tokens", "special_tokens", "roles"),
    *("settings", "files", "bytes", "sha256", "shared", "lossless", "uncased", "nfc", "nfkc", "counts", "neural"),
    *("custom", "bos", "eos", "unk", "pad", "vocab.tsv", "lexicon.safetensors", "MODEL_CARD.md", "<|endoftext|>"),
    *("../treetok.json", "/dev/zero", " walk"),
]


def with_checksums(content: bytes, original: bytes) -> bytes:
    try:
        head = json.loads(content)
    except (ValueError, RecursionError):
        return content
    files = head.get("files") if isinstance(head, dict) else None
    if not isinstance(files, dict):
        return content
    for name, right in json.loads(original)["files"].items():
        entry = files.get(name)
        if isinstance(entry, dict):
            files[name] = entry | {key: value for key, value in right.items() if entry.get(key, 0) is None}
    return json.dumps(head).encode()


def try_one(data: bytes) -> None:
    name = FOLDERS.names[data[0] % len(FOLDERS.names)] if data else FOLDERS.names[0]
    content = with_checksums(data[1:], (FOLDERS.original(name) / HEAD).read_bytes())
    with FOLDERS.with_file(name, HEAD, content) as folder:
        load_and_use(folder)


def change(data: bytes, most: int, seed: int) -> bytes:
    if not data or seed % 50 == 0:
        return bytes(atheris.Mutate(data, most))
    return data[:1] + changed_json(data[1:], most - 1, seed, WORDS)


if __name__ == "__main__":
    atheris_target.run(try_one, change)
