"""A valid descriptor -> the part of the manifest that it decides, every default written out. Pure."""

from __future__ import annotations

from typing import Any

from arci.manifest.fields import size_bytes
from arci.manifest.images import arm_source, project_source
from arci.manifest.programs import arm_program, environment_of
from arci.manifest.rules import FaultKinds, bucket_of
from arci.manifest.shape import ArmShape, ConditionShape, DescriptorShape, FaultShape, FromShape, IsolationShape
from arci.manifest.upstreams import decisions_document, models_document
from arci.model.trial import ARMS

__all__ = ["document_of"]


def document_of(shape: DescriptorShape, tasks: list[dict[str, Any]], kinds: FaultKinds) -> dict[str, Any]:
    """Everything but format, images, runtime, earlier runs and seal, in the shape that `arci.model.manifest` reads."""
    return {
        "experiment_id": shape.experiment_id,
        "tasks": tasks,
        "environment": environment_of(shape),
        "contract": _contract(shape),
        "grader": _grader(shape),
        "arms": {name: _arm(shape, name) for name in ARMS},
        "conditions": [_condition(condition, kinds) for condition in shape.conditions],
        "alpha": shape.alpha,
        "delta": shape.delta,
        "n_per_arm": shape.n_per_arm,
        "interval_method": shape.interval_method,
        "looks": list(shape.looks),
        "on_error": shape.on_error,
        "base_seed": shape.base_seed,
        "budgets": shape.budgets.model_dump(),
        "models": models_document(shape.models or {}),
        "decisions": decisions_document(shape.decisions),
        "isolation": _isolation(shape.isolation),
        "evidence": list(shape.evidence),
        "secrets": list(shape.secrets),
        "prior_runs": list(shape.prior_runs),
        "project_source": project_source(shape),
    }


def _contract(shape: DescriptorShape) -> dict[str, Any]:
    contract = shape.contract
    if contract is None:
        return {
            "max_tool_calls": None,
            "forbidden_tools": [],
            "required_tools": [],
            "max_calls_per_tool": {},
            "hard": [],
        }
    return contract.model_dump(exclude={"oracle"})


def _grader(shape: DescriptorShape) -> dict[str, Any]:
    if shape.grader.command is not None:
        return {"kind": "command", "ref": None, "argv": list(shape.grader.command.argv)}
    ref = shape.oracle if shape.contract is None else shape.contract.oracle
    return {"kind": "python", "ref": ref, "argv": []}


def _arm(shape: DescriptorShape, name: str) -> dict[str, Any]:
    arm: str | ArmShape = getattr(shape, name)
    program = arm_program(name, ArmShape(agent=arm) if isinstance(arm, str) else arm)
    return {**program, "source": arm_source(shape, arm)}


def _condition(condition: ConditionShape, kinds: FaultKinds) -> dict[str, Any]:
    bucket = bucket_of([fault.bucket for fault in condition.listed])
    return {
        "id": condition.id,
        "bucket": bucket,
        "is_gating": bucket != "ceiling",
        "faults": [_fault(fault, kinds) for fault in condition.listed],
    }


def _fault(fault: FaultShape, kinds: FaultKinds) -> dict[str, Any]:
    defaults = kinds[fault.name].defaults if fault.name in kinds else {}
    return {
        **fault.model_dump(exclude={"occurrence", "params"}),
        "occurrence": _occurrence(fault.occurrence),
        "params": {**defaults, **fault.params},
    }


def _occurrence(value: int | str | FromShape) -> dict[str, Any]:
    if isinstance(value, FromShape):
        return {"kind": "from", "n": value.from_}
    return {"kind": "nth", "n": value} if isinstance(value, int) else {"kind": "every", "n": 0}


def _isolation(isolation: str | IsolationShape) -> dict[str, Any]:
    if isinstance(isolation, str):
        isolation = IsolationShape(backend=isolation)  # type: ignore[arg-type]  # validated as one of the literals
    document = isolation.model_dump(exclude={"memory", "disk"})
    return {**document, "memory_bytes": size_bytes(isolation.memory), "disk_bytes": size_bytes(isolation.disk)}
