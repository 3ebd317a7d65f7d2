"""The words of a trial: arms, roles, outcomes, endings, blames; and one planned trial. Pure, host side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["ARMS", "Blame", "Ending", "Outcome", "Role", "Trial", "Verdict"]

ARMS = ("baseline", "candidate")


class Role(StrEnum):
    """Who a guest is."""

    BOUNDARY = "boundary"
    ENVIRONMENT = "environment"
    AGENT = "agent"
    GRADER = "grader"


class Outcome(StrEnum):
    """What a trial counts as."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"


class Ending(StrEnum):
    """How a trial stopped."""

    COMPLETED = "completed"
    CRASH = "crash"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    OOM = "oom"
    KILLED = "killed"
    VIOLATION = "violation"
    EVIDENCE = "evidence"
    HARNESS = "harness"
    ENVIRONMENT = "environment"
    GRADER = "grader"
    SETUP = "setup"
    REPLAY_MISS = "replay_miss"
    INTERRUPTED = "interrupted"


class Blame(StrEnum):
    """Who caused a trial that is not PASS."""

    AGENT = "agent"
    HARNESS = "harness"
    ENGINE = "engine"
    ENVIRONMENT = "environment"
    GRADER = "grader"
    MACHINE = "machine"


class Verdict(StrEnum):
    """What the gate says of an experiment; `exit_code` is what `arci run` ends with."""

    PASS = "PASS"
    BLOCK = "BLOCK"
    INCONCLUSIVE = "INCONCLUSIVE"
    ERROR = "ERROR"

    @property
    def exit_code(self) -> int:
        return {"PASS": 0, "BLOCK": 1, "INCONCLUSIVE": 2, "ERROR": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned trial of the schedule: identity only, nothing of its result."""

    condition_id: str
    index: int
    """0-based within the condition and arm."""
    arm: str
    """`baseline` or `candidate`."""
    seed: int
    """`base_seed + index`: the same for both arms and for every condition."""
    task_id: str
    task: dict[str, Any]
    pair_id: str
    """`<condition_id>:<index, 5 digits>`."""
    trial_id: str
    """`<pair_id>:<arm>`."""
    trial_sha256: str
    """Binds manifest digest, condition, task, index, arm and seed."""
    salt: str
    """Keys what the agent is told of its seed: a digest over what of the manifest no agent is told."""
