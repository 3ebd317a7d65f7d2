"""One thing that was looked at, and all of them: data for people and for `--json`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arci.errors import EXIT_ERROR, EXIT_NO_ENGINE
from arci.isolation.conformance.check import Result

__all__ = ["Health", "Line", "Report"]


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    """Trials cannot be run, or not as they must be."""


@dataclass(frozen=True, slots=True)
class Line:
    """`detail` is what was seen; `remedy` what to do about it, empty where there is nothing to do."""

    name: str
    health: Health
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`facts`: the engine's own words, for machines. `of_checks`: how many conformance checks there are in all."""

    backend: str
    lines: tuple[Line, ...]
    results: tuple[Result, ...] = ()
    of_checks: int = 0
    facts: Mapping[str, Any] | None = None
    has_no_engine: bool = False

    @property
    def exit_code(self) -> int:
        """0 with warnings at most, 69 without an engine, else 3."""
        if self.has_no_engine:
            return EXIT_NO_ENGINE
        is_bad = any(line.health is Health.PROBLEM for line in self.lines) or any(not r.is_good for r in self.results)
        return EXIT_ERROR if is_bad else 0

    def to_document(self) -> dict[str, Any]:
        return {
            "isolation": self.backend,
            "exit_code": self.exit_code,
            "findings": [
                {"name": line.name, "health": line.health.value, "detail": line.detail, "remedy": line.remedy}
                for line in self.lines
            ],
            "conformance": {
                "ran": len(self.results),
                "of": self.of_checks,
                "results": [
                    {"name": r.name, "shows": r.shows, "status": r.status.value, "detail": r.detail}
                    for r in self.results
                ],
            },
            "engine": dict(self.facts or {}),
        }
