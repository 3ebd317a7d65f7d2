"""The live line of a run on a terminal: counts and time left, by `rich`. Imported when there is a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from arci.run.progress import Counts, Silent

__all__ = ["TerminalProgress"]


class TerminalProgress(Silent):
    def __init__(self, stream: TextIO) -> None:
        self._progress = Progress(
            TextColumn("trials"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=stream),
        )
        self._task = self._progress.add_task("trials", total=None, note="")

    def run_started(self, counts: Counts) -> None:
        self._progress.start()
        # What an earlier part of the run recorded must not speed up the estimate.
        self._progress.reset(self._task, total=counts.planned, completed=counts.finished)

    def trial_started(self, trial_id: str, counts: Counts) -> None:
        self._show(counts)

    def trial_finished(self, trial_id: str, counts: Counts) -> None:
        self._show(counts)

    def warn(self, text: str) -> None:
        self._progress.console.print(f"arci: warning: {text}", markup=False, highlight=False)

    def run_finished(self, counts: Counts, state: str) -> None:
        self._show(counts)
        self._progress.stop()

    def _show(self, counts: Counts) -> None:
        errors = f", {counts.errors} ERROR" if counts.errors else ""
        self._progress.update(self._task, completed=counts.finished, note=f"{counts.running} running{errors}")
