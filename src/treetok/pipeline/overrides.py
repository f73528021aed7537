"""Settings of a preset, overridden one by one (`training.steps=2000`) or from a TOML file."""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from treetok.errors import TreetokError

Config = TypeVar("Config")
# Characters of a setting, and of a line of a file; and bytes of a file.
LONGEST_SETTING = 1000
LONGEST_CONFIG = 1 << 20


def parse_setting(written: str) -> tuple[str, Any]:
    """
    >>> parse_setting("training.steps=2000"), parse_setting("model.chart = pruned")
    (('training.steps', 2000), ('model.chart', 'pruned'))
    """
    key, equals, value = written.partition("=")
    if not equals or not key.strip():
        raise TreetokError(f"a setting is written KEY=VALUE, not {written!r}")
    value = value.strip()
    if len(written) > LONGEST_SETTING:
        raise TreetokError(f"a setting has at most {LONGEST_SETTING} characters, not {len(written)}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value
    except (ValueError, RecursionError):
        raise TreetokError(
            f"setting {key.strip()!r} has a number that is too long, or is nested too deeply"
        ) from None


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings in a TOML file, including nested tables."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LONGEST_CONFIG + 1)
        # A key of many parts takes memory that grows with the square of their number.
        if len(content) > LONGEST_CONFIG or max(map(len, content.split(b"\n"))) > LONGEST_SETTING:
            raise TreetokError(
                f"{path} is larger than {LONGEST_CONFIG} bytes, or has a line of more than {LONGEST_SETTING}"
            )
        return tomllib.loads(content.decode())
    except OSError as error:
        raise TreetokError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TreetokError(f"{path} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise TreetokError(f"{path} is not TOML: {error}") from None
    except (ValueError, RecursionError):
        raise TreetokError(f"{path} has a number that is too long, or is nested too deeply") from None


def flat_settings(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys.

    >>> flat_settings({"training": {"steps": 5}, "pseudo_words": 0})
    {'training.steps': 5, 'pseudo_words': 0}
    """
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= flat_settings(value, f"{before}{key}.")
        else:
            flat[before + key] = value
    return flat


def override(config: Config, settings: Mapping[str, Any]) -> Config:
    """A copy of a frozen, possibly nested config with some values replaced. Items of a tuple are addressed by
    index, as in `ensemble.0.size`; a list of tables replaces a whole tuple."""
    for key, value in settings.items():
        try:
            config = replaced(config, key, key.split("."), value)
        except UnknownSetting as error:
            near = difflib.get_close_matches(key, setting_names(config), 1, cutoff=0.3)
            raise TreetokError(f"{error}: did you mean {near[0]!r}?" if near else str(error)) from None
        except TreetokError as error:
            # What a component says of its setting; several components have settings of the same name.
            raise error if key in str(error) else TreetokError(f"setting {key!r}: {error}") from None
    return config


class UnknownSetting(TreetokError):
    pass


def setting_names(config: Any, before: str = "") -> list[str]:
    """
    >>> from treetok.model.decoding import DecodingConfig
    >>> setting_names(DecodingConfig())
    ['mbr', 'own_morpheme', 'temperature', 'piece_temperature', 'max_word_length']
    """
    names = []
    for name in get_type_hints(type(config)):
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            names += setting_names(value, f"{before}{name}.")
        elif isinstance(value, tuple):
            names += [n for at, item in enumerate(value) for n in setting_names(item, f"{before}{name}.{at}.")]
        else:
            names.append(before + name)
    return names


def replaced(config: Any, key: str, path: list[str], value: Any) -> Any:
    name, rest = path[0], path[1:]
    if isinstance(config, tuple):
        if not name.isdecimal() or int(name) >= len(config):
            raise TreetokError(f"unknown setting {key!r}: {name!r} is not a number from 0 to {len(config) - 1}")
        at = int(name)
        inner = replaced(config[at], key, rest, value) if rest else converted(key, value, type(config[at]))
        return (*config[:at], inner, *config[at + 1 :])
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise TreetokError(f"unknown setting {key!r}: it has no parts")
    hints = get_type_hints(type(config))
    if name not in hints:
        raise UnknownSetting(f"unknown setting {key!r}")
    if rest:
        new = replaced(getattr(config, name), key, rest, value)
    else:
        new = converted(key, value, hints[name])
    return dataclasses.replace(config, **{name: new})


def converted(key: str, value: Any, kind: Any) -> Any:
    """Convert a value to the type of its setting: 2 is accepted for 2.0, "2" is not."""
    if kind is float and type(value) is int:
        return float(value)
    if kind in (int, float, bool, str) and type(value) is kind:
        return value
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        try:
            return override(kind(), flat_settings(value))  # type: ignore[operator]
        except TreetokError as error:
            raise TreetokError(f"setting {key!r}: {error}") from None
    if get_args(kind) and isinstance(value, list):
        return tuple(converted(key, item, get_args(kind)[0]) for item in value)
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}.get(
        kind, "a table"
    )
    raise TreetokError(f"setting {key!r} must be {wanted}, not {value!r}")
