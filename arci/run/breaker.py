"""When to stop a run whose engine or machine is gone, instead of an ERROR for each of the remaining trials. Pure."""

from __future__ import annotations

import errno
import os

from arci.errors import ArciError
from arci.model.trial import Blame, Outcome
from arci.run.result import TrialResult

__all__ = ["MOST_IN_A_ROW", "Breaker", "RunBroken"]

MOST_IN_A_ROW = 3
_OURS = frozenset({Blame.HARNESS.value, Blame.ENGINE.value, Blame.MACHINE.value})

_REMEDIES = {
    errno.EMFILE: "with more open files allowed (ulimit -n), or fewer --workers",
    errno.ENOSPC: "once there is room",
    errno.EAGAIN: "with more processes allowed (ulimit -u), or fewer --workers",
}


class RunBroken(ArciError):
    """The run was stopped because trial after trial broke without the agent's doing; its store can be resumed."""


def _remedy(details: str) -> str:
    """What a person can do, where the machine's words tell it."""
    told = (remedy for code, remedy in _REMEDIES.items() if os.strerror(code).lower() in details.lower())
    return next(told, "once it is mended")


class Breaker:
    """Takes results in the order in which trials end.

    An ERROR of ours in whose trial no agent ran is *held*: if the trials after it are well it is recorded like any
    other; if the run is stopped it is not, and resuming makes the trial, of which nothing was seen.
    """

    def __init__(self) -> None:
        self._broken: list[TrialResult] = []

    @property
    def is_open(self) -> bool:
        """As many trials in a row broke as it takes to stop."""
        return len(self._broken) >= MOST_IN_A_ROW

    def take(self, result: TrialResult) -> list[TrialResult]:
        """The results to record now, in order."""
        record = result.record
        if record["outcome"] != Outcome.ERROR or record["blame"] not in _OURS:
            return [*self.release(), result]
        self._broken.append(result)
        return [result] if result.agent_started else []

    def release(self) -> list[TrialResult]:
        """What is held: to be recorded when the run is well or at its end."""
        held = [result for result in self._broken if not result.agent_started]
        self._broken = []
        return held

    def error(self) -> RunBroken:
        """What a person must read."""
        details = "; ".join(f"{r.trial.trial_id}: {r.record['detail']}" for r in self._broken)
        return RunBroken(
            f"the run was stopped: {len(self._broken)} trials in a row broke without the agent's doing: {details}",
            hint=f"{_remedy(details)}, `arci run --resume` makes the missing trials.",
        )
