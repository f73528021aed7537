"""Work that is done ahead of time, in a thread, while something else keeps the GPU busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Starts to compute at once; `result` waits for it. An error is raised by `result`, where it belongs.

    >>> Ahead(lambda: 6 * 7).result()
    42
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        # A daemon: when the run is stopped, nobody waits for it.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._compute())
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        self._thread.join()

    def result(self) -> T:
        self.wait()
        if self._error is not None:
            raise self._error
        return self._outcome[0]
