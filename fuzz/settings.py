"""Any treetok.json, beside good files: the first byte chooses the tokenizer, the rest is the file. Where sizes and
checksums are null, they are filled in."""

from __future__ import annotations

import json
from pathlib import Path

import atheris
import atheris_target

with atheris_target.imports():
    import treetok.storage.load
    import treetok.tokenizer
    from treetok import TreeTokenizer, TreetokError

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
WORDS += [{"pad": "<|endoftext|>"}, {"mask": "<s>"}, {"<s>": 0}, {"normalizer": "nfc"}]


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
        check_settings(folder)


def check_settings(folder: Path) -> None:
    """What was loaded is of the types that it says, and is the same when it is saved and loaded again."""
    try:
        tokenizer = TreeTokenizer.load(folder)
    except TreetokError:
        return
    state = tokenizer.state
    assert state.profile in ("lossless", "uncased") and type(state.profile_version) is int
    assert type(state.fewest_tokens) is bool and state.normalizer in (None, "nfc", "nfkc")
    assert all(type(number) is int for number in state.special_tokens.values())
    assert set(state.roles.values()) <= set(state.special_tokens) and isinstance(state.settings, dict)
    saved = FOLDERS.changed("saved")
    tokenizer.save(saved)
    assert TreeTokenizer.load(saved) == tokenizer, "another tokenizer was saved"


def change(data: bytes, most: int, seed: int) -> bytes:
    if not data or seed % 50 == 0:
        return bytes(atheris.Mutate(data, most))
    return data[:1] + changed_json(data[1:], most - 1, seed, WORDS)


if __name__ == "__main__":
    atheris_target.run(try_one, change)
