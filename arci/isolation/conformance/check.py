"""One check as data: its name, what it shows, what it needs. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from arci.isolation.base import Capability
from arci.isolation.conformance.bench import Bench

__all__ = ["Body", "Check", "Result", "Status", "check"]

Body: TypeAlias = Callable[[Bench], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """`body` raises ConformanceFailure where the contract is not kept. `needs`: only for back ends that claim this."""

    name: str
    shows: str
    body: Body
    needs: Capability | None = None


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    GAP = "known gap"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one check on one back end; `detail` is empty for one that passed."""

    name: str
    shows: str
    status: Status
    detail: str = ""

    @property
    def is_good(self) -> bool:
        return self.status is not Status.FAILED


def check(shows: str, *, needs: Capability | None = None) -> Callable[[Body], Check]:
    """Make a check of an async function; its name is the function's."""

    def make(body: Body) -> Check:
        return Check(getattr(body, "__name__", "check"), shows, body, needs)

    return make
