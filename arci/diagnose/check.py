"""Two recorded traces held against each other exactly: MATCH, DRIFT, or INVALID where one of them does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from arci.diagnose.diff import CONTEXT_STEPS, Divergence, compare, divergence_document
from arci.diagnose.traces import Trace, read_trace
from arci.errors import StoreError

__all__ = ["Agreement", "Compared", "check_traces", "checked_document", "compare_trials"]


class Agreement(StrEnum):
    """What an exact comparison says; `exit_code` is what `arci trace-check` ends with."""

    MATCH = "MATCH"
    DRIFT = "DRIFT"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        return {"MATCH": 0, "DRIFT": 1, "INVALID": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two trials and where they part."""

    a: Trace
    b: Trace
    divergence: Divergence


def compare_trials(
    a_run: Path, a_trial: str, b_run: Path, b_trial: str, *, context: int | None = CONTEXT_STEPS
) -> Compared:
    """Two trials of the same or of different stores. StoreError if one is not there or does not hold."""
    a, b = read_trace(a_run, a_trial), read_trace(b_run, b_trial)
    return Compared(a, b, compare(a_trial, a.events, b_trial, b.events, context=context))


def check_traces(
    a_run: Path, a_trial: str, b_run: Path, b_trial: str
) -> tuple[Agreement, Compared | None, StoreError | None]:
    """The agreement with what was compared, or with why nothing could be."""
    try:
        compared = compare_trials(a_run, a_trial, b_run, b_trial)
    except StoreError as error:
        return Agreement.INVALID, None, error
    return (Agreement.MATCH if compared.divergence.is_same else Agreement.DRIFT), compared, None


def checked_document(agreement: Agreement, compared: Compared | None, error: StoreError | None) -> dict[str, Any]:
    """The JSON object of `arci trace-check --json`."""
    return {
        "agreement": agreement.value,
        "exit_code": agreement.exit_code,
        "reason": str(error) if error is not None else None,
        "divergence": divergence_document(compared.divergence) if compared is not None else None,
    }
