"""Special tokens and their roles: which of them pads, begins, ends, masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treetok.errors import TreetokError
from treetok.text import Profile, check_encodable
from treetok.token_table import UNKNOWN, is_base_name

# What language models use special tokens for, as they are called everywhere.
ROLES = ("bos", "eos", "unk", "pad", "mask", "cls", "sep")
# Enough for a code book of 65,536 sounds, less a few.
MOST_SPECIAL_TOKENS = 1 << 16
# In characters.
LONGEST_SPECIAL_TOKEN = 1000


def checked_names(names: Any) -> list[str]:
    """The names of special tokens, each of them once."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise TreetokError(f"special tokens are a list of strings, not {names!r}")
    # In the order in which they are given.
    checked: dict[str, None] = {}
    for name in names:
        if not isinstance(name, str) or not name:
            raise TreetokError(f"a special token must be a string that is not empty, not {name!r}")
        check_encodable(name)
        if name in checked:
            raise TreetokError(f"the special token {name!r} is given twice")
        if is_base_name(name):
            raise TreetokError(f"{name!r} cannot be a special token: it is the name of an ordinary one")
        checked[name] = None
        check_sizes(len(checked), name)
    return list(checked)


def check_sizes(number: int, name: str) -> None:
    """Check how many special tokens there are, and how long one of them is."""
    if number > MOST_SPECIAL_TOKENS:
        raise TreetokError(f"a tokenizer has at most {MOST_SPECIAL_TOKENS} special tokens")
    if len(name) > LONGEST_SPECIAL_TOKEN:
        raise TreetokError(
            f"a special token has at most {LONGEST_SPECIAL_TOKEN} characters, not {len(name)} as {name[:20]!r}..."
        )


def check_special_tokens(special_tokens: Any) -> None:
    """Raise TreetokError unless these are special tokens with their ids; these may be out of range."""
    if not isinstance(special_tokens, Mapping):
        raise TreetokError("special_tokens must map non-empty names to ids")
    for name, number in special_tokens.items():
        if not isinstance(name, str) or not name or type(number) is not int:
            raise TreetokError("special_tokens must map non-empty names to ids")
        check_sizes(len(special_tokens), name)
        # JSON can hold lone surrogates.
        check_encodable(name)


def checked_roles(roles: Any) -> dict[str, str | None]:
    """Roles with the tokens that are to play them, None for none; these need not exist yet."""
    if not isinstance(roles, Mapping):
        raise TreetokError(f"roles map {', '.join(ROLES)} to special tokens, not {roles!r}")
    for role, token in roles.items():
        if role not in ROLES:
            raise TreetokError(f"unknown role {role!r}: choose one of {', '.join(ROLES)}")
        if token is not None:
            checked_names([token])
    return dict(roles)


def default_roles(profile: Profile, special_tokens: Iterable[str]) -> dict[str, str]:
    """The roles of the profile's own special tokens, as far as they are there.

    >>> from treetok.text import profile_named
    >>> default_roles(profile_named("lossless"), ["<|endoftext|>", "<s>"])
    {'bos': '<|endoftext|>', 'eos': '<|endoftext|>', 'unk': '<|endoftext|>'}
    """
    there = set(special_tokens)
    return {role: token for role, token in profile.default_roles.items() if token in there}


def changed_roles(before: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """
    >>> changed_roles({"eos": "<s>", "unk": "<s>"}, {"eos": "</s>", "unk": None})
    {'eos': '</s>'}
    """
    roles = {**before, **changes}
    return {role: token for role in ROLES if (token := roles.get(role)) is not None}


def check_roles(roles: Mapping[str, str], special_tokens: Iterable[str], byte_fallback: bool) -> None:
    """Raise TreetokError if roles name tokens that are not special."""
    there = set(special_tokens)
    for role, token in checked_roles(roles).items():
        if token not in there:
            raise TreetokError(f"the role {role!r} must name a special token, not {token!r}")
    if not byte_fallback and roles.get("unk", UNKNOWN) != UNKNOWN:
        raise TreetokError(f"characters outside the vocabulary become {UNKNOWN} in this profile: unk must be that")
