"""Special tokens and their roles: which of them pads, begins, ends, masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treetok.errors import TreetokError
from treetok.text import Profile, check_encodable
from treetok.token_table import UNKNOWN, is_base_name

# What language models use special tokens for, as they are called everywhere.
ROLES = ("bos", "eos", "unk", "pad", "mask", "cls", "sep")


def checked_names(names: Any) -> list[str]:
    """The names of special tokens, each of them once."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise TreetokError(f"special tokens are a list of strings, not {names!r}")
    checked: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name:
            raise TreetokError(f"a special token must be a string that is not empty, not {name!r}")
        check_encodable(name)
        if name in checked:
            raise TreetokError(f"the special token {name!r} is given twice")
        if is_base_name(name):
            raise TreetokError(f"{name!r} cannot be a special token: it is the name of an ordinary one")
        checked.append(name)
    return checked


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
