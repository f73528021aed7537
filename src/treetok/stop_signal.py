"""SIGTERM and Ctrl-C as an event that long work looks at when it can stop without losing anything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set. A second Ctrl-C interrupts at once.

    Signals can only be caught in the main thread; elsewhere the event is never set. Inside another `stop_signal`
    the outer event is handed on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield threading.Event()
        return
    outer = getattr(signal.getsignal(signal.SIGTERM), "stopped", None)
    if outer is not None:
        yield outer
        return
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    stop.stopped = stopped  # type: ignore[attr-defined]
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
