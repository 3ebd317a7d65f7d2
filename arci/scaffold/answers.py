"""What a person answered to `arci init`, as text; and the plan that it means. Pure declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Answers", "ArmPlan", "FaultPlan", "Plan", "ServerPlan"]


@dataclass(frozen=True, slots=True)
class Answers:
    """The options of the command line, unread. None or empty: not given."""

    name: str
    baseline: str | None = None
    candidate: str | None = None
    command: str | None = None
    baseline_command: str | None = None
    candidate_command: str | None = None
    image: str | None = None
    baseline_image: str | None = None
    candidate_image: str | None = None
    toolset: str | None = None
    mcp_server: str | None = None
    mcp_server_image: str | None = None
    snapshot: str | None = None
    oracle: str | None = None
    grader: str | None = None
    faults: tuple[str, ...] = ()
    task: str | None = None
    docker: bool = False

    @property
    def is_name_alone(self) -> bool:
        """Nothing is said of agents and tools: a whole experiment is wanted."""
        return self == Answers(self.name, docker=self.docker)


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """`ref` is a Python agent. Else it is a command: `argv`, empty where `image` has one of its own."""

    ref: str | None = None
    argv: tuple[str, ...] = ()
    image: str | None = None


@dataclass(frozen=True, slots=True)
class ServerPlan:
    argv: tuple[str, ...]
    image: str | None
    snapshot: dict[str, Any] | None
    """As the descriptor has it; None: the grader judges by evidence alone."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    name: str
    tool: str | None
    occurrence: Any
    """As the descriptor has it; None: its default."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the descriptor will say. One of `toolset` and `server`, and one of `oracle` and `grader`, is set."""

    experiment_id: str
    arms: dict[str, ArmPlan]
    toolset: str | None
    server: ServerPlan | None
    oracle: str | None
    grader: tuple[str, ...]
    faults: tuple[FaultPlan, ...]
    task: dict[str, Any]
    task_file: str | None
    backend: str
