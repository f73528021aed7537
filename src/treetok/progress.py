"""Progress of long-running work on stderr: a bar in a terminal, an occasional plain line elsewhere."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator

from treetok.errors import TreetokError

# Called with the name of the stage, the amount done, and the total (None if unknown).
Hook = Callable[[str, int, int | None], object]

BAR_WIDTH = 24
# When stderr is not a terminal.
SECONDS_BETWEEN_LINES, SECONDS_TO_FIRST_LINE = 10, 2


def in_units(amount: float, unit: str) -> str:
    """
    >>> in_units(2_500_000, "B"), in_units(1200, "words")
    ('2.5 MB', '1200 words')
    """
    if unit != "B":
        return f"{amount:.0f} {unit}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {unit}"
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= size:
            return f"{amount / size:.1f} {name}"
    return f"{amount:.0f} B"


def in_units_per_second(done: int, seconds: float, unit: str) -> str:
    """The rate of work, or the time per unit where that is more than a second.

    >>> in_units_per_second(50, 10, "batches"), in_units_per_second(4, 10, "epochs")
    ('5 batches/s', '2.5 s each')
    """
    if 0 < done < seconds and unit != "B":
        return f"{seconds / done:.1f} s each"
    return f"{in_units(done / max(seconds, 1e-9), unit)}/s"


def in_minutes(seconds: float) -> str:
    """
    >>> in_minutes(75), in_minutes(3700)
    ('1:15', '1:01:40')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Stopped(TreetokError):
    """Work was stopped by a signal."""


class Stage:
    """One stage of long-running work; call `at` to report progress."""

    def __init__(self, name: str, total: int | None, unit: str, stoppable: bool, progress: Progress) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0
        self._most_seconds_left = math.inf
        self._stoppable, self._progress = stoppable, progress
        self._terminal = progress.show and sys.stderr.isatty()
        self._start = time.monotonic()
        # The first line is printed early, so that a slow first step does not look like a hang.
        self._shown = self._start - (0 if self._terminal else SECONDS_BETWEEN_LINES - SECONDS_TO_FIRST_LINE)

    def at(self, done: int, most_seconds_left: float = math.inf) -> None:
        """Report that `done` units are done, and how long the rest may take at most."""
        self.done, self._most_seconds_left = done, most_seconds_left
        if self._stoppable and self._progress.is_stopping():
            raise Stopped(f"stopped while {self.name}")
        now = time.monotonic()
        if now - self._shown < (0.1 if self._terminal else SECONDS_BETWEEN_LINES):
            return
        self._shown = now
        if self._progress.hook:
            self._progress.hook(self.name, done, self.total)
        self._print()

    def begin(self) -> None:
        """Show the stage in a terminal before anything is done, which may take a while."""
        if self._terminal:
            self._print()

    def _print(self) -> None:
        if self._terminal:
            print("\r" + self.line() + "\x1b[K", end="", file=sys.stderr, flush=True)
        elif self._progress.show:
            print(self.line(), file=sys.stderr, flush=True)

    def at_offset(self, before: int, done: int) -> None:
        """Like `at`, with `done` counted from an offset of `before`."""
        self.at(before + done)

    def line(self) -> str:
        """The line to display: name, bar, amount, rate, time left in the stage and in the whole run."""
        seconds = time.monotonic() - self._start
        parts = [f"{self.name}:"]
        left = 0.0
        if self.total:
            share = min(1.0, self.done / self.total)
            if self.done:
                left = max(0, self.total - self.done) * seconds / self.done
            if left > self._most_seconds_left:
                # It ends before all is done: the share is that of the time.
                left = max(self._most_seconds_left, 0.0)
                share = seconds / (seconds + left)
            if self._terminal:
                parts.append("█" * int(share * BAR_WIDTH) + "░" * (BAR_WIDTH - int(share * BAR_WIDTH)))
            parts.append(f"{share:.0%}")
        parts.append(in_units(self.done, self.unit))
        if not self.done:
            return " ".join(parts)
        times = [in_units_per_second(self.done, seconds, self.unit)]
        if self.total:
            times.append(f"{in_minutes(left)} left")
            after = self._progress.seconds_after(seconds + left)
            if after is not None:
                times.append(f"whole run {in_minutes(left + after)} left")
        else:
            times.append(in_minutes(seconds))
        parts.append(f"({', '.join(times)})")
        return " ".join(parts)

    def close(self) -> None:
        if self._progress.hook:
            self._progress.hook(self.name, self.done, self.total)
        seconds = time.monotonic() - self._start
        if self._progress.show and (self._terminal or seconds > 2):
            start = "\r" if self._terminal else ""
            end = "\x1b[K" if self._terminal else ""
            amount = in_units(self.done, self.unit)
            print(f"{start}{self.name}: {amount} in {in_minutes(seconds)}{end}", file=sys.stderr, flush=True)


class Progress:
    """Shows stages on stderr (True), passes them to a function, or stays quiet (None or False).

    is_stopping: whether the current stage should stop as soon as it can.
    seconds_after: given the total duration of the current stage, how long the stages after it will take; None if
        unknown.
    """

    def __init__(self, show: bool | Hook | None) -> None:
        self.hook = show if callable(show) else None
        self.show = bool(show) and self.hook is None
        self.is_stopping: Callable[[], bool] = lambda: False
        self.seconds_after: Callable[[float], float | None] = lambda seconds: None

    def note(self, text: str) -> None:
        """Show a line between those of a stage."""
        if self.show:
            print(f"\r{text}\x1b[K" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None, unit: str, stoppable: bool = True) -> Iterator[Stage]:
        """stoppable: whether `at` may raise `Stopped`; False if something has to be saved first."""
        stage = Stage(name, total, unit, stoppable, self)
        stage.begin()
        yield stage
        stage.close()
