"""Chats in which control tokens that somebody typed are text: `sanitize_control_tokens` of `apply_chat_template`.

Transformers marks them in the strings of a chat before the template puts these together. What it cannot mark is
refused here, since it would become control tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

from transformers import PreTrainedTokenizerBase

from treetok.errors import TreetokError

# Where users can have written something; functions among the tools are the caller's own.
WRITTEN_BY_USERS = ("conversation", "tools", "documents", "kwargs")
# Transformers 5.22 does not mark variables of the template, and encodes marked chats itself.
MARKS_VARIABLES = hasattr(PreTrainedTokenizerBase, "_mark_chat_inputs")


def check_chat(arguments: Mapping[str, Any], control_tokens: Iterable[str]) -> None:
    """Raise TreetokError if arguments of `apply_chat_template` have control tokens where they cannot be marked: in
    names, and in objects that are no plain data, which templates read as if they were."""
    tokens = tuple(control_tokens)
    for name in WRITTEN_BY_USERS:
        waiting: list[Any] = [arguments.get(name)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                for key in value:
                    check_text(key, tokens, f"a name in {name}")
                waiting.extend(value.values())
            elif isinstance(value, list | tuple):
                waiting.extend(value)
            elif isinstance(value, str):
                if name == "kwargs" and not MARKS_VARIABLES:
                    check_text(value, tokens, "a variable of the template")
            elif name == "conversation" and hasattr(value, "messages"):
                waiting.append(value.messages)
            elif not (value is None or isinstance(value, Number) or (name == "tools" and callable(value))):
                raise TreetokError(
                    f"sanitize_control_tokens needs plain dicts, lists and strings in {name}, not"
                    f" {type(value).__name__}"
                )


def check_text(text: Any, tokens: tuple[str, ...], place: str) -> None:
    found = next((token for token in tokens if token in text), None) if isinstance(text, str) else None
    if found is not None:
        raise TreetokError(f"{place} has the control token {found!r}, which cannot be sanitized there")


def encode_sanitized(tokenizer: PreTrainedTokenizerBase, chat: str) -> list[int]:
    """The ids of a chat in which transformers has marked what is text, as its own Python backend has them."""
    if not MARKS_VARIABLES:
        raise TreetokError("sanitize_control_tokens is an option of apply_chat_template")
    # A function that is not public; without it, nothing must be encoded.
    from transformers.utils.chat_template_utils import encode_marked_chat

    ids: list[int] = encode_marked_chat(tokenizer, chat)
    return ids
