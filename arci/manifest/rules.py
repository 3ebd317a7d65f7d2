"""Rules across keys: what the experiment declares. Pure, and tolerant: keys of a wrong type are passed over here,
since `complaints` names them, so that all problems come at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from arci.manifest.complaints import show
from arci.manifest.shape import INVARIANTS
from arci.manifest.source import Finding
from arci.manifest.strict_yaml import Path

__all__ = [
    "MIN_TAIL",
    "FaultKind",
    "FaultKinds",
    "bucket_of",
    "condition_faults",
    "experiment_findings",
    "items",
    "mapping",
    "repeated",
]

MIN_TAIL = 1e-12
"""Least alpha / (4 * conditions * looks): below, beta quantiles near 0 and 1 lose their digits in double precision."""


class FaultKind(Protocol):
    """What must be known of a built-in fault."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Every param with its default."""

    @property
    def target(self) -> str:
        """What it disturbs: `tool`, `model` or `decision`."""

    def __call__(self, params: Mapping[str, Any], /) -> Sequence[str]:
        """Everything wrong with `params`, each as `params.NAME: what is wrong; what is allowed`."""


FaultKinds = Mapping[str, FaultKind]
"""The built-in faults by name."""


def experiment_findings(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything wrong across keys but in faults. `data` is without the keys that come later."""
    yield from _judge(data)
    yield from _tasks(data)
    yield from _contract(data)
    yield from _conditions(data)
    yield from _alpha(data)
    for key in ("evidence", "secrets"):
        yield from repeated(items(data, key), (key,))


def mapping(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The mapping at `key`; empty where there is none."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def items(data: Mapping[str, Any], key: str) -> list[Any]:
    """The list at `key`; empty where there is none."""
    value = data.get(key)
    return value if isinstance(value, list) else []


def repeated(values: Sequence[Any], path: Path) -> Iterator[Finding]:
    """A finding for every text that stands in a list a second time."""
    seen: dict[str, int] = {}
    for position, value in enumerate(values):
        if isinstance(value, str) and seen.setdefault(value, position) != position:
            yield Finding((*path, position), f"{show(value)} is listed twice; once.")


def condition_faults(condition: Mapping[str, Any]) -> list[tuple[Path, dict[str, Any]]]:
    """The faults of a condition, each with its path below it."""
    listed: list[tuple[Path, Any]] = [(("faults", i), fault) for i, fault in enumerate(items(condition, "faults"))]
    single: list[tuple[Path, Any]] = [(("fault",), condition.get("fault"))]
    return [(path, fault) for path, fault in single + listed if isinstance(fault, dict)]


def bucket_of(buckets: Sequence[str]) -> str:
    """A condition's bucket from those of its faults."""
    if not buckets:
        return "clean"
    return next(bucket for bucket in ("ceiling", "falsify", "benign") if bucket in buckets)


def _judge(data: Mapping[str, Any]) -> Iterator[Finding]:
    has_command = mapping(data, "grader").get("command") is not None
    oracle, contract = data.get("oracle"), data.get("contract")
    inner = mapping(data, "contract").get("oracle")
    if oracle is not None and contract is not None:
        yield Finding(
            ("oracle",), "stands beside contract; exactly one of them is allowed.", "write contract: {oracle: ...}."
        )
    elif has_command and (oracle is not None or inner is not None):
        yield Finding(("grader", "command"), "stands beside an oracle; exactly one judge is allowed.")
    elif not has_command and oracle is None and inner is None and (contract is None or isinstance(contract, dict)):
        path: Path = ("oracle",) if contract is None else ("contract", "oracle")
        yield Finding(path, "is missing; an oracle (module:function) or grader.command is required.")


def _tasks(data: Mapping[str, Any]) -> Iterator[Finding]:
    given = [key for key in ("task", "task_file", "tasks") if data.get(key) is not None]
    if len(given) > 1:
        yield Finding((given[1],), f"stands beside {given[0]}; exactly one of task, task_file and tasks is allowed.")
    if data.get("tasks") is not None and data.get("task_id") is not None:
        yield Finding(("task_id",), "stands beside tasks; each task has its own id there.")
    first: dict[str, int] = {}
    for position, task in enumerate(items(data, "tasks")):
        name = task.get("id") if isinstance(task, dict) else None
        if isinstance(name, str) and first.setdefault(name, position) != position:
            yield Finding(("tasks", position, "id"), f"{show(name)} is also tasks[{first[name]}]; ids must differ.")


def _contract(data: Mapping[str, Any]) -> Iterator[Finding]:
    contract = mapping(data, "contract")
    caps, forbidden = mapping(contract, "max_calls_per_tool"), items(contract, "forbidden_tools")
    for key in ("forbidden_tools", "required_tools", "hard"):
        yield from repeated(items(contract, key), ("contract", key))
    for position, tool in enumerate(items(contract, "required_tools")):
        if isinstance(tool, str) and (tool in forbidden or caps.get(tool, 1) == 0):
            path = ("contract", "required_tools", position)
            yield Finding(path, f"{show(tool)} is required and never allowed; one of both.")
    for position, name in enumerate(items(contract, "hard")):
        if name in INVARIANTS and contract.get(name) in (None, [], {}):
            yield Finding(
                ("contract", "hard", position), f"{show(name)} is not set in contract; set it, or leave it out."
            )


def _conditions(data: Mapping[str, Any]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    buckets = []
    for position, condition in enumerate(items(data, "conditions")):
        if not isinstance(condition, dict):
            continue
        name = condition.get("id")
        # Ids become file names, and some file systems fold case.
        if isinstance(name, str) and first.setdefault(name.casefold(), position) != position:
            other = f"conditions[{first[name.casefold()]}]"
            yield Finding(("conditions", position, "id"), f"{show(name)} is also {other}; ids must differ.")
        if condition.get("fault") is not None and condition.get("faults") is not None:
            yield Finding(("conditions", position, "faults"), "stands beside fault; exactly one of them is allowed.")
        buckets.append((position, _bucket(condition)))
    yield from _balance(buckets)


def _balance(buckets: Sequence[tuple[int, str]]) -> Iterator[Finding]:
    kinds = [bucket for _, bucket in buckets]
    if kinds and all(kind == "ceiling" for kind in kinds):
        yield Finding(("conditions",), "no condition gates (all are ceiling); at least one that gates is required.")
    if "benign" in kinds and "clean" not in kinds:
        position = next(position for position, bucket in buckets if bucket == "benign")
        message = "is benign, with no clean condition to compare with; a condition without faults beside it."
        yield Finding(("conditions", position), message, "add  - id: clean")


def _bucket(condition: Mapping[str, Any]) -> str:
    buckets = [fault.get("bucket", "falsify") for _, fault in condition_faults(condition)]
    return bucket_of([b if b in ("falsify", "benign", "ceiling") else "falsify" for b in buckets])


def _alpha(data: Mapping[str, Any]) -> Iterator[Finding]:
    alpha = data.get("alpha")
    if not isinstance(alpha, float) or not 0 < alpha <= 0.5:
        return
    gating = [c for c in items(data, "conditions") if isinstance(c, dict) and _bucket(c) != "ceiling"]
    count = max(1, len(gating))
    if alpha / (4 * count) < MIN_TAIL:
        least = f"{4 * count * MIN_TAIL:g} or more, so that alpha / (4 * conditions) is at least {MIN_TAIL:g}"
        yield Finding(("alpha",), f"{alpha:g} is too small for {count} gating conditions; {least}.")
