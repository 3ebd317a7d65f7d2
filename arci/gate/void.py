"""Faults that a condition declares and its trials never met. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from arci.faults.registry import target_of
from arci.model.manifest import FaultSpec

__all__ = ["describe_fault", "is_shadowed"]


def is_shadowed(faults: Sequence[FaultSpec], index: int) -> bool:
    """True if every call that this fault could meet is met for certain by faults before it in the list.

    Faults of models, of decisions and of tools never meet the same call.
    """
    fault = faults[index]
    alike = [f for f in faults[:index] if target_of(f.name) == target_of(fault.name)]
    before = [f for f in alike if f.probability >= 1 and f.tool in (None, fault.tool)]
    calls = {f.occurrence.n for f in before if f.occurrence.kind == "nth"}
    tail = min((_first_call(f) for f in before if f.occurrence.kind != "nth"), default=None)
    first = _first_call(fault)
    if fault.occurrence.kind == "nth":
        return first in calls or (tail is not None and tail <= first)
    if tail is None or tail - first > len(calls):
        return False
    return calls.issuperset(range(first, tail))


def describe_fault(fault: FaultSpec) -> str:
    """Such as `tool_timeout on reserve, call 0`; the calls are counted from 0."""
    calls = {"nth": f"call {fault.occurrence.n}", "from": f"calls from {fault.occurrence.n}", "every": "every call"}
    chance = "" if fault.probability >= 1 else f", probability {fault.probability:g}"
    tool = f"any {target_of(fault.name)}" if fault.tool is None else fault.tool
    return f"{fault.name} on {tool}, {calls.get(fault.occurrence.kind, fault.occurrence.kind)}{chance}"


def _first_call(fault: FaultSpec) -> int:
    return 0 if fault.occurrence.kind == "every" else fault.occurrence.n
