"""Chats in which control tokens that somebody typed are text: `sanitize_control_tokens` of `apply_chat_template`.

Transformers marks them in the strings of a chat before the template puts these together. What it cannot mark is
refused here, since it would become control tokens, and so are chats whose marks the template loses: where it
writes a list as Python does, marks are escaped, and where it takes a string apart, one of two may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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
    seen: set[int] = set()
    for name in WRITTEN_BY_USERS:
        waiting: list[Any] = [arguments.get(name)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict | list | tuple):
                # One that contains itself has no end.
                if id(value) in seen:
                    continue
                seen.add(id(value))
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


# As transformers marks control tokens, and what stands for them when they are left out.
START, END, LEFT_OUT = "\U000f0000", "\U000f0001", "\U000f0002"
MARKS = re.compile(f"[{START}{END}]")


def check_rendering(
    render: Callable[[dict[str, Any]], str | list[str]],
    arguments: Mapping[str, Any],
    control_tokens: Iterable[str],
) -> None:
    """Raise TreetokError if control tokens of users become those of the template when it puts a chat together: if
    there are others than without what users typed."""
    tokens = sorted(control_tokens, key=len, reverse=True)
    if not tokens:
        return
    pattern = re.compile("|".join(map(re.escape, tokens)))
    marked = with_strings(arguments, lambda text: pattern.sub(f"{START}\\g<0>{END}", MARKS.sub("", text)))
    left_out = with_strings(arguments, lambda text: pattern.sub(LEFT_OUT, MARKS.sub("", text)))
    if marked == left_out:
        return
    of_users = re.compile(f"{START}(?:{pattern.pattern}){END}|{MARKS.pattern}")

    def of_template(arguments: dict[str, Any]) -> list[list[str]]:
        chats = render(arguments)
        return [
            [token for part in of_users.split(chat) for token in pattern.findall(part)]
            for chat in ([chats] if isinstance(chats, str) else chats)
        ]

    if of_template(marked) != of_template(left_out):
        raise TreetokError(
            "sanitize_control_tokens: the chat template changes text in which there are control tokens, so that"
            " they would no longer be text, for example by writing a list of parts as it is"
        )


def with_strings(arguments: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The same arguments with other strings where users can have written them; names in dicts stay."""

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {name: changed(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [changed(part) for part in value]
        return changed(value.messages) if hasattr(value, "messages") else value

    return {**arguments, **{name: changed(arguments[name]) for name in WRITTEN_BY_USERS if name in arguments}}


def encode_sanitized(tokenizer: PreTrainedTokenizerBase, chat: str) -> list[int]:
    """The ids of a chat in which transformers has marked what is text, as its own Python backend has them."""
    if not MARKS_VARIABLES:
        raise TreetokError("sanitize_control_tokens is an option of apply_chat_template")
    # A function that is not public; without it, nothing must be encoded.
    from transformers.utils.chat_template_utils import encode_marked_chat

    ids: list[int] = encode_marked_chat(tokenizer, chat)
    return ids
