"""Rules of faults: names, params, and whether there is what they disturb. Pure, and as tolerant of wrong types as
`rules`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arci.manifest.complaints import show
from arci.manifest.fields import is_reference
from arci.manifest.rules import FaultKinds, condition_faults, items, mapping
from arci.manifest.source import Finding, closest
from arci.manifest.strict_yaml import Path
from arci.model.upstream import DECISION_TOOL

__all__ = ["fault_findings"]

_MODEL = "model:"


def fault_findings(data: Mapping[str, Any], faults: FaultKinds) -> Iterator[Finding]:
    """Everything wrong in the faults of all conditions."""
    for position, condition in enumerate(items(data, "conditions")):
        if isinstance(condition, dict):
            for below, fault in condition_faults(condition):
                path = ("conditions", position, *below)
                yield from _fault(fault, path, faults)
                yield from _target(data, fault, path, faults)


def _fault(fault: Mapping[str, Any], path: Path, faults: FaultKinds) -> Iterator[Finding]:
    name, params = fault.get("name"), fault.get("params", {})
    if not isinstance(name, str) or ":" in name:
        if isinstance(name, str) and not is_reference(name):
            yield Finding((*path, "name"), f"{show(name)} is not a reference; module:function is required.")
    elif name not in faults:
        known = ", ".join((*faults, "module:function"))
        yield Finding((*path, "name"), f"{show(name)} is not a known fault; allowed: {known}.", closest(name, faults))
    elif isinstance(params, dict):
        for complaint in faults[name](params):
            key, _, rest = complaint.removeprefix("params.").partition(": ")
            yield Finding((*path, "params", key), rest) if key in params else Finding((*path, "params"), complaint)


def _target(data: Mapping[str, Any], fault: Mapping[str, Any], path: Path, faults: FaultKinds) -> Iterator[Finding]:
    """Model faults meet models, decision faults decisions, all others tools."""
    name, tool = fault.get("name"), fault.get("tool")
    if not isinstance(name, str) or not (tool is None or isinstance(tool, str)):
        return
    target = faults[name].target if name in faults else "tool"
    if target == "model":
        yield from _model_target(mapping(data, "models"), name, tool, path)
    elif target == "decision":
        yield from _decision_target(data, name, tool, path)
    elif tool is not None and tool.startswith(_MODEL):
        message = f"{show(tool)} is a model, and {show(name)} disturbs tools; a fault model_*, or a tool."
        yield Finding((*path, "tool"), message)
    elif tool == DECISION_TOOL:
        message = f"{show(tool)} is a decision, and {show(name)} disturbs tools; a fault decision_*, or a tool."
        yield Finding((*path, "tool"), message)


def _model_target(models: Mapping[str, Any], name: str, tool: str | None, path: Path) -> Iterator[Finding]:
    if not models:
        yield Finding((*path, "name"), f"{show(name)} disturbs models, and none are declared; models.")
    elif tool is not None and tool.removeprefix(_MODEL) not in [m for m in models if tool.startswith(_MODEL)]:
        allowed = [f"{_MODEL}{model}" for model in models]
        message = f"{show(tool)} is no declared model; allowed: {', '.join(allowed)}, or left out for all of them."
        yield Finding((*path, "tool"), message, closest(tool, allowed))


def _decision_target(data: Mapping[str, Any], name: str, tool: str | None, path: Path) -> Iterator[Finding]:
    if data.get("decisions") is None:
        yield Finding((*path, "name"), f"{show(name)} disturbs decisions, and none are declared; decisions.")
    elif tool not in (None, DECISION_TOOL):
        yield Finding((*path, "tool"), f"{show(tool)} is no decision; {DECISION_TOOL}, or left out.")
