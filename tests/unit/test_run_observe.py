"""Progress: counts and time left to stderr, one line a minute without a terminal, never an outcome."""

from __future__ import annotations

import io

import pytest

from arci.run.observe import Counts, PlainProgress, duration, make_observer, progress_text
from arci.run.terminal import TerminalProgress


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_one_line_a_minute_and_one_at_either_end() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(stream, clock)
    progress.run_started(Counts(400, finished=100))
    for second in range(1, 131):
        clock.now_s = 100.0 + second
        progress.trial_started("t", Counts(400, 100 + second, 2, 0, second))
        progress.trial_finished("t", Counts(400, 100 + second, 2, 1, second))
        progress.tick()
    progress.warn("left behind")
    progress.run_finished(Counts(400, 230, 0, 1, 130), "stopped")
    assert stream.getvalue().splitlines() == [
        "arci: 400 trials, 100 recorded before",
        "arci: 160 of 400 trials, 2 running, 1 ERROR, about 4 min left",
        "arci: 220 of 400 trials, 2 running, 1 ERROR, about 3 min left",
        "arci: warning: left behind",
        "arci: stopped: 230 of 400 trials in 2 min, 1 ERROR",
    ]


def test_no_time_left_is_told_before_anything_ended_here() -> None:
    assert progress_text(Counts(400, finished=100, running=2), 30.0) == "100 of 400 trials, 2 running"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (48.4, "48 s"), (99, "99 s"), (720, "12 min"), (11100, "3 h 05 min")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_live_line_is_for_terminals() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert isinstance(make_observer(io.StringIO()), PlainProgress)
    stream = Terminal()
    observer = make_observer(stream)
    assert isinstance(observer, TerminalProgress)
    observer.run_started(Counts(4, finished=1))
    observer.trial_started("t", Counts(4, 1, 1))
    observer.trial_finished("t", Counts(4, 2, 0, 1, 1))
    observer.warn("[bold]left behind[/bold]")
    observer.run_finished(Counts(4, 4, 0, 1, 3), "complete")
    shown = stream.getvalue()
    assert "4/4" in shown
    assert "1 ERROR" in shown
    assert "[bold]left behind[/bold]" in shown
