"""Any tokenizer_config.json beside good files: the first byte chooses the tokenizer, the rest is the file.
TreeTokTokenizer.from_pretrained raises TreetokError or gives the tokenizer of that folder, reads nothing outside
of it, and starts nothing."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import atheris
import atheris_target

with atheris_target.imports():
    from treetok import TreeTokenizer, TreetokError
    from treetok.hf import TreeTokTokenizer

import logging
import warnings

from json_changes import changed_json
from small_models import SAMPLE, Folders
from transformers import AutoTokenizer

FOLDERS = Folders()
CONFIG = "tokenizer_config.json"
# Another tokenizer, which no configuration may bring in.
OTHER = FOLDERS.original(FOLDERS.names[-1])
WORDS = [
    *(
        "tokenizer",
        "init_inputs",
        "name_or_path",
        "treetok_file",
        "vocab_file",
        "tokenizer_file",
        "tokenizer_class",
    ),
    *("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens", "model_max_length", "auto_map"),
    *("bos_token", "eos_token", "unk_token", "pad_token", "cls_token", "sep_token", "mask_token", "chat_template"),
    *(
        "special_tokens_pattern",
        "token_type_ids_pattern",
        "padding_side",
        "truncation_side",
        "split_special_tokens",
    ),
    *(
        "content",
        "single_word",
        "lstrip",
        "rstrip",
        "normalized",
        "special",
        "__type",
        "AddedToken",
        "left",
        "cls_sep",
    ),
    *("TreeTokTokenizer", "PreTrainedTokenizerFast", "BertTokenizer", "<|endoftext|>", " walk", "0", "290", "400"),
    *(str(OTHER), str(OTHER / "treetok.json"), "../../original/counts", "treetok.json", "en", [str(OTHER)]),
    {
        "content": "<new>",
        "single_word": True,
        "lstrip": True,
        "rstrip": True,
        "normalized": True,
        "special": False,
    },
]
WORDS += [{"tokenizer": str(OTHER)}, {"init_inputs": [str(OTHER)]}, {"name_or_path": str(OTHER)}]
# Where Python and its packages are.
LIBRARIES = tuple(
    os.path.realpath(path)
    for path in {*sys.path, sys.prefix, sys.base_prefix, *os.environ.get("PATH", "").split(":")}
    if path
)
STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "socket.getaddrinfo")
watched: Path | None = None
seen: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if watched is None:
        return
    if event in STARTS:
        seen.append(f"{event} {arguments}")
    elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if not path.startswith((os.path.realpath(watched) + os.sep, *LIBRARIES)) and Path(path).is_file():
            seen.append(f"read {path}")


def try_one(data: bytes) -> None:
    global watched
    name = FOLDERS.names[data[0] % len(FOLDERS.names)] if data else FOLDERS.names[0]
    content = data[1:]
    with FOLDERS.with_file(name, CONFIG, content) as folder:
        watched = folder
        seen.clear()
        try:
            tokenizer = TreeTokTokenizer.from_pretrained(folder)
        except Exception as error:
            check_refusal(error)
            return
        finally:
            watched = None
            assert not seen, f"loading {folder}: {seen}"
        assert tokenizer.treetok == TreeTokenizer.load(folder), "another tokenizer was loaded"
        use(tokenizer)


def check_refusal(error: Exception) -> None:
    """Transformers itself reads the file before it asks the class for anything, and raises what it raises."""
    if isinstance(error, TreetokError):
        return
    ours = [frame.name for frame in traceback.extract_tb(error.__traceback__) if "treetok/hf" in frame.filename]
    assert ours == ["from_pretrained"], f"{type(error).__name__}: {error}"


def use(tokenizer: TreeTokTokenizer) -> None:
    try:
        encoded = tokenizer(SAMPLE, "another", return_offsets_mapping=True, truncation=True, max_length=50)
        assert len(encoded["input_ids"]) == len(encoded["offset_mapping"])
        tokenizer.decode(encoded["input_ids"], skip_special_tokens=True)
    except TreetokError:
        return


def change(data: bytes, most: int, seed: int) -> bytes:
    if not data or seed % 50 == 0:
        return bytes(atheris.Mutate(data, most))
    return data[:1] + changed_json(data[1:], most - 1, seed, WORDS)


if __name__ == "__main__":
    logging.disable()
    warnings.simplefilter("ignore")
    # Everything that is imported only when it is needed.
    AutoTokenizer.from_pretrained(FOLDERS.original("counts"))
    with FOLDERS.with_file(
        "counts", CONFIG, json.dumps({"tokenizer_class": "TreeTokTokenizer"}).encode()
    ) as folder:
        use(TreeTokTokenizer.from_pretrained(folder))
    sys.addaudithook(watch)
    atheris_target.run(try_one, change)
