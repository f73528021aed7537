"""`functools.cached_property` without the lock that it has in Python 3.11.

A process that is forked while another thread holds that lock would wait for it forever. Without it, two threads
may compute the same value, and one of the two is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")

if sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(Generic[Value]):
        def __init__(self, compute: Callable[[Any], Value]) -> None:
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> cached_property[Value]: ...

        @overload
        def __get__(self, instance: object, owner: type | None = None) -> Value: ...

        def __get__(self, instance: object | None, owner: type | None = None) -> cached_property[Value] | Value:
            if instance is None:
                return self
            # From now on, the value is found before this is asked.
            return instance.__dict__.setdefault(self.name, self.compute(instance))  # type: ignore[no-any-return]


__all__ = ["cached_property"]
