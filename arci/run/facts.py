"""What is known of one attempt when it is over: the input of `classify`. Pure data; no text of the agent decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arci.isolation.base import Exit
from arci.model.trial import Blame

__all__ = ["Failure", "Grade", "InitReport", "TrialFacts", "Trouble"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that broke and was not the agent."""

    blame: Blame
    """`harness`, `engine`, `environment` or `machine`."""
    detail: str
    came_first: bool
    """True if it came before the agent's own end (or before a budget or deadline ended it)."""
    stderr: str = ""
    """Tail of what the broken part printed, for people."""
    server: str | None = None
    """The MCP server that ended by itself, where one did."""
    during_call: bool = False
    """A call of the agent was open when the server ended."""
    how: str = ""
    """How the server ended, such as `exit status 3` or `killed by signal 9`, as far as that is known."""


@dataclass(frozen=True, slots=True)
class InitReport:
    """What `arci-init`, the parent of the agent's process, said of it. The agent cannot write here."""

    started: bool = False
    exec_errno: int | None = None
    code: int | None = None
    signal: int | None = None
    oom_kills: int | None = None
    """Processes that the kernel killed for memory; None: unknown."""
    peak_memory_bytes: int | None = None
    """The most that the agent's container had, page cache and files in memory included; None: unknown."""
    is_lost: bool = False
    """The status connection closed before the end was told."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What the worker caught when it called a Python agent."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Grade:
    """What came of the grader: `success`, or the reason why there is none (`error_kind` and `message`)."""

    success: bool | None
    error_kind: str | None = None
    """`timeout`, `truncated`, `exit`, `frame`, or the kind of the exception that the oracle raised."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """Everything `classify` may look at."""

    arm_kind: str
    """`python` (a worker calls a function and must deliver an answer) or `command`."""
    infra_exit_codes: tuple[int, ...] = ()
    """Exit codes of a command arm that mean trouble of the machine's, by the descriptor."""
    troubles: tuple[Trouble, ...] = ()
    """In the order in which they came."""
    may_not_crash: frozenset[str] = frozenset()
    """Servers whose death during a call of the agent is the agent's failure, by the descriptor (`crash: fail`)."""
    replay_miss: str | None = None
    latched: str | None = None
    """Name of the budget that was reached."""
    deadline: str | None = None
    """Name of the deadline at which we stopped the agent: `max_seconds`, or `setup_seconds` for the import."""
    init: InitReport = field(default_factory=InitReport)
    exit: Exit | None = None
    """How the agent's guest ended, as the engine tells it."""
    has_answer: bool = False
    """The worker delivered the agent's return value."""
    failure: Failure | None = None
    violations: tuple[Mapping[str, Any], ...] = ()
    """Each with `invariant`, `tool`, `detail`."""
    required_missing: tuple[str, ...] = ()
    evidence_excess: str | None = None
    """Why the evidence was refused: over a cap, or an archive that no honest agent makes."""
    grade: Grade | None = None
    error_line: str = ""
    """The telling line of the agent's stderr: part of a fingerprint, never of an outcome."""
    bad_tool: str | None = None
    """The first tool answer of the trial that was not an undisturbed success, such as `reserve timeout`."""
