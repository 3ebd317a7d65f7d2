"""What the gate takes from a record: the few facts that decide, with their types checked. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arci.model.record import RECORD_FORMAT
from arci.model.trial import Blame, Ending, Outcome

__all__ = ["Result", "result_of", "results_of"]


@dataclass(frozen=True, slots=True)
class Result:
    """The facts of one record."""

    trial_id: str
    condition_id: str
    arm: str
    index: int
    outcome: Outcome
    ending: Ending
    blame: Blame | None
    detail: str
    injections: Counter[int]
    """Index of the fault in the condition's list -> how often it was applied."""
    violated: frozenset[str]
    """Names of the contract's invariants that the trial broke."""
    trace_sha256: str


def result_of(record: Mapping[str, Any]) -> Result:
    """KeyError, TypeError or ValueError, with the reason, on anything that is no record of this format."""
    if record["format"] != RECORD_FORMAT:
        raise ValueError(f"format: {record['format']!r}; {RECORD_FORMAT!r} is what this version reads")
    result = Result(
        trial_id=_text(record["trial_id"]),
        condition_id=_text(record["condition_id"]),
        arm=_text(record["arm"]),
        index=_count(record["index"]),
        outcome=Outcome(record["outcome"]),
        ending=Ending(record["ending"]),
        blame=None if record["blame"] is None else Blame(record["blame"]),
        detail=_text(record["detail"]),
        injections=Counter(_count(injection["fault_index"]) for injection in record["injections"]),
        violated=_violated(record["contract"]),
        trace_sha256=_text(record["trace_sha256"]),
    )
    _check_success(record, result)
    return result


def results_of(records: Iterable[Any]) -> list[Result]:
    """The facts of every record that has them, for people to look at: what cannot be used is left out."""
    results = []
    for record in records:
        try:
            results.append(result_of(record))
        except (KeyError, TypeError, ValueError):
            continue  # the gate has named it
    return results


def _violated(contract: Mapping[str, Any]) -> frozenset[str]:
    broken = {_text(violation["invariant"]) for violation in contract["violations"]}
    return frozenset(broken | {"required_tools"} if contract["required_missing"] else broken)


def _check_success(record: Mapping[str, Any], result: Result) -> None:
    """A PASS must follow from what the same record says of oracle, contract and ending."""
    if result.outcome is not Outcome.PASS:
        if result.blame is None:
            raise ValueError(f"{result.outcome} without blame")
        return
    follows = record["contract"]["success"] is True and not result.violated and record["blame"] is None
    if not follows or result.ending is not Ending.COMPLETED:
        raise ValueError("outcome PASS does not follow from its contract, blame and ending")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where text belongs")
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:  # True is an int too
        raise TypeError(f"{value!r} where a count belongs")
    return value
