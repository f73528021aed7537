"""What a tokenizer_config.json may say. It can come from strangers, and transformers hands on all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from treetok.errors import TreetokError, shown
from treetok.storage.files import read_file
from treetok.storage.strict_json import parse_json
from treetok.text import check_encodable

MOST_BYTES = 16 << 20
# Of all added tokens together: to look for them takes a few hundred bytes for each.
MOST_CHARACTERS = 1_000_000
# Transformers looks through all of them for each; those in `added_tokens_decoder` do not count.
MOST_SPECIAL = 1000
# They would load something else than the directory; nothing ever saves them.
NOT_SAVED = ("tokenizer", "init_inputs", "fast_tokenizer_files")
# Attributes of tokenizers that are no options: what they are would be saved for options of these names.
ATTRIBUTES = ("deprecation_warnings", "init_kwargs", "tokens_trie", "total_vocab_size", "treetok")
FLAGS = ("lstrip", "normalized", "rstrip", "single_word", "special")
# What options have to be, as far as transformers does not check it.
EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "additional_special_tokens": ("a list of tokens", lambda value: isinstance(value, list | tuple)),
    "added_tokens_decoder": ("a map of ids to tokens", lambda value: isinstance(value, dict)),
    "chat_control_tokens": ("a list of strings", lambda value: is_list_of_text(value)),
    "chat_template": ("a template or named templates", lambda value: is_template(value)),
    "extra_special_tokens": ("a list of tokens", lambda value: isinstance(value, list | tuple | dict)),
    "model_input_names": ("a list of strings", lambda value: is_list_of_text(value)),
    "model_max_length": ("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    "model_specific_special_tokens": ("a map of names to tokens", lambda value: isinstance(value, dict)),
    "processor_class": ("a name", lambda value: isinstance(value, str)),
    "split_special_tokens": ("true or false", lambda value: isinstance(value, bool)),
}
# As `str` writes a number that is not negative.
NUMBER = re.compile("0|[1-9][0-9]{0,9}")


def check_file(path: Path) -> None:
    """Raise TreetokError if a tokenizer_config.json is not one that a tokenizer could have been saved with."""
    try:
        options = parse_json(read_file(path, path.parent, MOST_BYTES))
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise TreetokError(f"{path} is damaged: {error}") from None
    check_texts(options, path)
    if not isinstance(options, dict):
        raise TreetokError(f"{path} is damaged: it must be a JSON object")
    for name in NOT_SAVED:
        if options.get(name):
            raise TreetokError(f"{path} must not have {name!r}: all of a tokenizer is in its own directory")
    saved = options.get("added_tokens_decoder", {})
    check_saved_tokens(saved, path)
    contents = {token["content"] for token in saved.values()}
    for name in ("additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"):
        tokens = options.get(name)
        if isinstance(tokens, dict | list):
            new = sum(not isinstance(token, str) or token not in contents for token in tokens)
            if new > MOST_SPECIAL:
                raise TreetokError(
                    f"{path}: {name} has more than {MOST_SPECIAL} tokens that were not added before"
                )
    if sum(name.endswith("_token") for name in options) > MOST_SPECIAL:
        raise TreetokError(f"{path} has more than {MOST_SPECIAL} special tokens")


def check_texts(value: Any, path: Path) -> None:
    """Raise TreetokError if JSON has text that cannot be encoded."""
    if isinstance(value, str):
        try:
            check_encodable(value)
        except TreetokError as error:
            raise TreetokError(f"{path} is damaged: {error}") from None
    elif isinstance(value, dict | list):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            check_texts(part, path)


def check_saved_tokens(tokens: Any, path: Path) -> None:
    if not isinstance(tokens, dict):
        raise TreetokError(f"{path}: added_tokens_decoder must map ids to tokens, not be {shown(tokens)}")
    for number, token in tokens.items():
        if not NUMBER.fullmatch(number):
            raise TreetokError(f"{path}: added_tokens_decoder has {shown(number)}, which is no id of a token")
        if not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise TreetokError(
                f"{path}: added token {number} must be an object with a content, not {shown(token)}"
            )
        for name, value in token.items():
            if name != "content" and (name not in FLAGS or not isinstance(value, bool)):
                raise TreetokError(
                    f"{path}: added token {number} has {name!r}: {shown(value)}; expected are content and, true or"
                    f" false, {', '.join(FLAGS)}"
                )
    if sum(len(token["content"]) for token in tokens.values()) > MOST_CHARACTERS:
        raise TreetokError(f"{path}: the added tokens have more than {MOST_CHARACTERS} characters")


def check_options(options: Mapping[str, Any]) -> None:
    """Raise TreetokError if an option, saved or not, is of a kind that fails only when the tokenizer is used."""
    for name in options:
        if name.startswith("_") or name in ATTRIBUTES:
            raise TreetokError(f"{shown(name)} is not an option of tokenizers")
    for name, (expected, is_right) in EXPECTED.items():
        value = options.get(name)
        if value is not None and not is_right(value):
            raise TreetokError(f"{name} must be {expected}, not {shown(value)}")
    extra = options.get("extra_special_tokens") or options.get("additional_special_tokens") or []
    named = dict(options.get("model_specific_special_tokens") or {})
    if isinstance(extra, dict):
        named, extra = named | extra, []
    for name in named:
        # Any other could hide an attribute of the tokenizer.
        if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*_token", name):
            raise TreetokError(f"the name of a special token must be like image_token, not {shown(name)}")
    # `add_bos_token` is no token.
    tokens = {
        name: value
        for name, value in options.items()
        if name.endswith("_token") and not (value is None or isinstance(value, bool))
    }
    numbered = {f"extra_special_tokens[{number}]": token for number, token in enumerate(extra)}
    for name, token in (tokens | named | numbered).items():
        check_token(name, token)


def check_token(name: str, token: Any) -> None:
    """A token is a string or what transformers makes of it."""
    text = token if isinstance(token, str) else getattr(token, "content", None)
    if not isinstance(text, str) or not text:
        raise TreetokError(f"{name} must be a token that is not empty, not {shown(token)}")
    check_encodable(text)


def is_list_of_text(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def is_template(value: Any) -> bool:
    """A chat template, or several by name: as transformers has them, or as it saves them."""
    if isinstance(value, dict):
        return is_list_of_text([*value, *value.values()])
    if isinstance(value, list | tuple):
        return all(
            isinstance(one, dict) and is_list_of_text([one.get("name"), one.get("template")]) for one in value
        )
    return isinstance(value, str)


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
