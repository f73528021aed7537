"""The exceptions that treetok raises deliberately, and argument checks that raise them."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

from treetok.control_characters import escape_controls

LONGEST_MESSAGE = 4000


class TreetokError(Exception):
    """An error that the caller can fix: the message is one line and names the file or argument at fault.

    Messages quote files, which may be from strangers: control characters in them are escaped, and what is longer
    than anyone would read is left out.
    """

    def __init__(self, message: object) -> None:
        super().__init__(shortened(escape_controls(str(message))))


# Characters of a value in an error message.
LONGEST_SHOWN = 200


class TreetokWarning(UserWarning):
    """Something the user should know about that is not an error. Control characters are escaped as in errors."""

    def __init__(self, message: object) -> None:
        super().__init__(shortened(escape_controls(str(message))))


def shortened(message: str) -> str:
    """
    >>> shortened("short"), len(shortened("x" * 100_000))
    ('short', 4005)
    """
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:3000]} ... {message[-1000:]}"


def shown(value: Any) -> str:
    """A value in an error message: short, even for numbers of so many digits that Python writes none.

    >>> shown("a"), shown(10**5000)
    ("'a'", 'a number of thousands of digits')
    """
    try:
        written = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return written if len(written) <= LONGEST_SHOWN else written[:LONGEST_SHOWN] + "…"


def whole_number(name: str, value: Any, least: int) -> int:
    """Check that `value` is an integer (numpy integers included) of at least `least`, and return it as an int.

    >>> whole_number("vocab_size", 300, least=1)
    300
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise TreetokError(f"{name} must be a whole number of {least} or more, not {shown(value)}")
    return number


def share(name: str, value: Any, may_be_one: bool, may_be_zero: bool = False) -> float:
    """Check that `value` is a number (numpy scalars included) between 0 and 1, and return it as a float."""
    if type(value) is not bool and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if 0 < number < 1 or (may_be_one and number == 1) or (may_be_zero and number == 0):
            return number
    least, most = "of at least" if may_be_zero else "above", "at most" if may_be_one else "below"
    raise TreetokError(f"{name} must be a number {least} 0 and {most} 1, not {shown(value)}")


def first_difference(there: Any, here: Any) -> str:
    """
    >>> first_difference({"steps": 5, "seed": {"a": 1}}, {"steps": 5, "seed": {"a": 2}})
    'seed: a: 1 there, 2 here'
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *(key for key in there if key not in here)]:
            if there.get(key) != here.get(key):
                return f"{key}: {first_difference(there.get(key), here.get(key))}"
    return f"{there} there, {here} here"
