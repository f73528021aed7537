"""SIGTERM and Ctrl-C as an event that long-running code polls at points where it can stop without losing work; or
SIGTERM as an exception, where there is something to clean up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that is set by SIGTERM and Ctrl-C. A second Ctrl-C raises KeyboardInterrupt immediately.

    Signals can only be caught in the main thread; in other threads the event is never set. Nested calls share the
    outer event.
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


@contextmanager
def exit_on_termination() -> Iterator[None]:
    """SIGTERM raises SystemExit, so that unfinished files are removed on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
