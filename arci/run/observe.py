"""What a run tells while it goes on. Never an outcome: whoever looks at interim rates stops at the wrong moment.

`PlainProgress` is one line a minute; `terminal.TerminalProgress` a live line with the time left. Both write to stderr.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from arci.run.progress import Counts, Observer, Silent

__all__ = ["Counts", "Observer", "PlainProgress", "Silent", "duration", "make_observer"]

_LINE_EVERY_S = 60.0


class PlainProgress(Silent):
    """One line a minute, and one at the end."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: monotonic seconds."""
        self._stream = stream
        self._clock = clock
        self._counts = Counts(0)
        self._begun = self._last = clock()

    def run_started(self, counts: Counts) -> None:
        self._counts = counts
        self._begun = self._last = self._clock()
        earlier = f", {counts.finished} recorded before" if counts.finished else ""
        self._say(f"{counts.planned} trials{earlier}")

    def trial_started(self, trial_id: str, counts: Counts) -> None:
        self._counts = counts

    def trial_finished(self, trial_id: str, counts: Counts) -> None:
        self._counts = counts

    def warn(self, text: str) -> None:
        self._say(f"warning: {text}")

    def tick(self) -> None:
        now = self._clock()
        if now - self._last >= _LINE_EVERY_S:
            self._last = now
            self._say(progress_text(self._counts, now - self._begun))

    def run_finished(self, counts: Counts, state: str) -> None:
        spent = duration(self._clock() - self._begun)
        self._say(f"{state}: {counts.finished} of {counts.planned} trials in {spent}{_errors(counts)}")

    def _say(self, text: str) -> None:
        print(f"arci: {text}", file=self._stream, flush=True)


def progress_text(counts: Counts, elapsed_s: float) -> str:
    """`412 of 800 trials, 2 running, 1 ERROR, about 3 min left`."""
    left = ""
    if counts.here:
        left_s = elapsed_s / counts.here * (counts.planned - counts.finished)
        left = f", about {duration(left_s)} left"
    return f"{counts.finished} of {counts.planned} trials, {counts.running} running{_errors(counts)}{left}"


def duration(seconds: float) -> str:
    """`48 s`, `12 min`, `3 h 05 min`."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    if whole < 6000:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def make_observer(stream: TextIO) -> Observer:
    """The live line where `stream` is a terminal, one line a minute else."""
    if not stream.isatty():
        return PlainProgress(stream)
    from arci.run.terminal import TerminalProgress  # rich costs a tenth of a second

    return TerminalProgress(stream)


def _errors(counts: Counts) -> str:
    return f", {counts.errors} ERROR" if counts.errors else ""
