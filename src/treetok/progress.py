"""Progress of long work on stderr: a bar in a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

# Called with the name of the stage, how much is done, and how much there is (None where nobody knows).
Hook = Callable[[str, int, int | None], object]

BAR_WIDTH = 24


def in_units(amount: float, unit: str) -> str:
    """
    >>> in_units(2_500_000, "B"), in_units(1200, "words")
    ('2.5 MB', '1200 words')
    """
    if unit != "B":
        return f"{amount:.0f} {unit}"
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= size:
            return f"{amount / size:.1f} {name}"
    return f"{amount:.0f} B"


def in_minutes(seconds: float) -> str:
    """
    >>> in_minutes(75), in_minutes(3700)
    ('1:15', '1:01:40')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Stage:
    """One piece of long work: say how much is done with `at`."""

    def __init__(self, name: str, total: int | None, unit: str, show: bool, hook: Hook | None) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0
        self._show, self._hook = show, hook
        self._terminal = show and sys.stderr.isatty()
        self._start = self._shown = time.monotonic()

    def at(self, done: int) -> None:
        self.done = done
        now = time.monotonic()
        if now - self._shown < (0.1 if self._terminal else 10):
            return
        self._shown = now
        if self._hook:
            self._hook(self.name, done, self.total)
        if self._terminal:
            print("\r" + self.line() + "\x1b[K", end="", file=sys.stderr, flush=True)
        elif self._show:
            print(self.line(), file=sys.stderr, flush=True)

    def at_offset(self, before: int, done: int) -> None:
        """As `at`, where `before` was done before `done` began."""
        self.at(before + done)

    def line(self) -> str:
        """What is shown: name, bar, amount, rate, time left."""
        seconds = time.monotonic() - self._start
        rate = self.done / seconds if seconds > 0 else 0.0
        parts = [f"{self.name}:"]
        if self.total:
            share = min(1.0, self.done / self.total)
            if self._terminal:
                parts.append("█" * int(share * BAR_WIDTH) + "░" * (BAR_WIDTH - int(share * BAR_WIDTH)))
            parts.append(f"{share:.0%}")
        parts.append(in_units(self.done, self.unit))
        parts.append(f"({in_units(rate, self.unit)}/s,")
        if self.total and rate:
            parts.append(f"{in_minutes(max(0, self.total - self.done) / rate)} left)")
        else:
            parts.append(f"{in_minutes(seconds)})")
        return " ".join(parts)

    def close(self) -> None:
        if self._hook:
            self._hook(self.name, self.done, self.total)
        seconds = time.monotonic() - self._start
        if self._show and (self._terminal or seconds > 2):
            start = "\r" if self._terminal else ""
            end = "\x1b[K" if self._terminal else ""
            amount = in_units(self.done, self.unit)
            print(f"{start}{self.name}: {amount} in {in_minutes(seconds)}{end}", file=sys.stderr, flush=True)


class Progress:
    """Shows stages on stderr (True), hands them to a function, or keeps quiet (None or False)."""

    def __init__(self, show: bool | Hook | None) -> None:
        self._hook = show if callable(show) else None
        self._show = bool(show) and self._hook is None

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Stage]:
        stage = Stage(name, total, unit, self._show, self._hook)
        yield stage
        stage.close()
