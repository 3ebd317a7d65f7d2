"""What of a failing trial can be left out, as data: faults of its condition, fields of its task, parameters. Pure.

Values are immutable; each pass proposes simpler ones. A value becomes a sealed manifest of one trial per arm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from arci.diagnose.next_steps import file_name
from arci.diagnose.shrink import without_parts
from arci.manifest.schedule import schedule
from arci.model.canonical import canonical
from arci.model.manifest import Manifest, manifest_sha256
from arci.model.trial import Trial

__all__ = ["Reduction", "each_field", "each_parameter", "fewer_faults", "one_fault_less", "reduction_of", "reproducer"]

_MOST_ID = 200


@dataclass(frozen=True, slots=True)
class Reduction:
    """`faults` as a manifest document holds them, in their order; `task` is the task's value."""

    faults: tuple[Mapping[str, Any], ...]
    task: Mapping[str, Any]

    @property
    def key(self) -> bytes:
        """Equal for values that are the same."""
        return canonical([list(self.faults), self.task])


def reduction_of(document: Mapping[str, Any], trial: Trial) -> Reduction:
    """Everything that the trial has of a sealed manifest."""
    (condition,) = (c for c in document["conditions"] if c["id"] == trial.condition_id)
    return Reduction(tuple(condition["faults"]), trial.task)


def reproducer(
    document: Mapping[str, Any], trial: Trial, value: Reduction, **about: Any
) -> tuple[dict[str, Any], Manifest, Trial]:
    """The sealed manifest of one trial per arm that makes `value` with the trial's own seed, and its trial of the same
    arm. `about` is kept in what is not sealed."""
    condition = {
        "id": trial.condition_id,
        "bucket": "falsify" if value.faults else "clean",
        "is_gating": True,
        "faults": [dict(fault) for fault in value.faults],
    }
    changed = {
        **document,
        "experiment_id": f"{document['experiment_id']}-{file_name(trial.trial_id)}"[:_MOST_ID].rstrip("-."),
        "tasks": [{"id": trial.task_id, "task": dict(value.task)}],
        "conditions": [condition],
        "n_per_arm": 1,
        "looks": [],
        "base_seed": trial.seed,
        "prior_runs": [],
        "volatile": {**document.get("volatile", {}), **about},
    }
    changed["record_sha256"] = manifest_sha256(changed)
    manifest = Manifest.from_document(changed)
    planned = next(made for made in schedule(manifest) if made.arm == trial.arm)
    return changed, manifest, planned


def fewer_faults(value: Reduction) -> Iterator[Reduction]:
    """Whole parts of the faults left out, the boldest first."""
    for faults in without_parts(value.faults):
        yield replace(value, faults=tuple(faults))


def one_fault_less(value: Reduction) -> Iterator[Reduction]:
    """Each fault left out by itself."""
    for index in range(len(value.faults)):
        yield replace(value, faults=(*value.faults[:index], *value.faults[index + 1 :]))


def each_field(value: Reduction) -> Iterator[Reduction]:
    """Each field of the task, and each item of a list in it, left out by itself; the outer ones first."""
    for path in _paths(value.task):
        yield replace(value, task=_without(value.task, path))


def each_parameter(value: Reduction) -> Iterator[Reduction]:
    """Each parameter of a fault left to its default by itself."""
    for index, fault in enumerate(value.faults):
        for name in fault["params"]:
            params = {key: given for key, given in fault["params"].items() if key != name}
            changed = {**fault, "params": params}
            yield replace(value, faults=(*value.faults[:index], changed, *value.faults[index + 1 :]))


Path = tuple[str | int, ...]


def _paths(task: Mapping[str, Any]) -> list[Path]:
    found: list[Path] = []
    level: list[tuple[Path, Any]] = [((), task)]
    while level:
        below = [((*path, key), child) for path, value in level for key, child in _children(value)]
        found += [path for path, _ in below]
        level = below
    return found


def _children(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _without(value: Any, path: Path) -> Any:
    first, rest = path[0], path[1:]
    if rest:
        left = [(key, _without(child, rest) if key == first else child) for key, child in _children(value)]
    else:
        left = [(key, child) for key, child in _children(value) if key != first]
    return dict(left) if isinstance(value, Mapping) else [child for _, child in left]
