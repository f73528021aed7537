"""What is shown of long work: at once, with rates a person can read, and the time left of the whole run."""

import io
import re
import sys

import pytest

from treetok.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr("treetok.progress.time.monotonic", lambda: now[0])
    return now


def test_a_terminal_shows_a_stage_before_anything_is_done(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(True).stage("training model 1/2", 500, "words"):
        assert re.search(r"training model 1/2: ░+ 0% 0 words", sys.stderr.getvalue())
        assert "/s" not in sys.stderr.getvalue()


def test_elsewhere_the_first_slow_step_is_shown(clock, capsys):
    with Progress(True).stage("distilling the parser", 20, "epochs") as shown:
        clock[0] += 3
        shown.at(1)
        assert capsys.readouterr().err == "distilling the parser: 5% 1 epochs (3.0 s each, 0:57 left)\n"
        clock[0] += 3
        shown.at(2)
        assert capsys.readouterr().err == ""


def test_the_time_left_is_that_of_the_whole_run_and_within_the_budget(clock, capsys):
    progress = Progress(True)
    # Another stage as long as this one, and ten seconds.
    progress.seconds_after = lambda seconds: seconds + 10
    with progress.stage("training", 100, "words") as shown:
        clock[0] += 10
        shown.at(50)
        assert "(5 words/s, 0:10 left, whole run 0:40 left)" in capsys.readouterr().err
        clock[0] += 10
        shown.at(60, most_seconds_left=5)
        # 20 of 25 seconds are over, and less is done.
        assert "training: 80% 60 words (3 words/s, 0:05 left, whole run 0:40 left)" in capsys.readouterr().err
