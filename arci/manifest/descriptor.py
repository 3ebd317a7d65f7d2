"""`arci.yaml` -> a checked descriptor, or a SpecError with every problem. Reads files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arci.errors import Problem, SpecError
from arci.manifest.cautions import warnings_of
from arci.manifest.complaints import complaints, show
from arci.manifest.document import document_of
from arci.manifest.files import place_files, read_task, read_tasks
from arci.manifest.images import grader_source, project_source, requests_of, shared_images
from arci.manifest.later import without_later
from arci.manifest.other_documents import refuse_other_document
from arci.manifest.rules import FaultKinds, experiment_findings
from arci.manifest.rules_faults import fault_findings
from arci.manifest.rules_places import place_findings
from arci.manifest.rules_programs import program_findings
from arci.manifest.rules_upstreams import upstream_findings
from arci.manifest.shape import DescriptorShape, IsolationShape
from arci.manifest.source import Finding, Source
from arci.manifest.strict_yaml import MAX_BYTES, Node, read_yaml

__all__ = ["Descriptor", "Overrides", "json_schema", "load_descriptor", "read_descriptor", "read_file"]


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line sets before sealing; None leaves the descriptor's."""

    backend: str | None = None
    n_per_arm: int | None = None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A descriptor in which nothing is wrong."""

    path: Path
    root: Path
    """Absolute directory that relative paths start from."""
    shape: DescriptorShape
    document: dict[str, Any]
    """What of the manifest the descriptor decides; images, runtime and seal are missing."""
    warnings: tuple[str, ...]
    """What a person should hear before trial 1."""

    @property
    def experiment_id(self) -> str:
        return self.shape.experiment_id

    @property
    def backend(self) -> str:
        """`process` or `docker`."""
        return str(self.document["isolation"]["backend"])

    @property
    def sources(self) -> dict[str, str]:
        """`baseline`, `candidate`, `project` -> directory of the code, relative to `root`."""
        arms = {name: str(arm["source"]) for name, arm in self.document["arms"].items()}
        return {**arms, "project": str(self.document["project_source"])}


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a descriptor."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **DescriptorShape.model_json_schema()}


def load_descriptor(
    path: str | Path, *, overrides: Overrides | None = None, faults: FaultKinds | None = None
) -> Descriptor:
    """The descriptor of a file. SpecError names every problem with file and line; nothing else is raised.

    `faults`: the built-in faults by name; ARCI's own registry unless given.
    """
    return read_descriptor(read_file(path, MAX_BYTES), path, overrides=overrides, faults=faults)


def read_file(path: str | Path, limit_bytes: int) -> bytes:
    """At most `limit_bytes` + 1 bytes of a file that a person named; SpecError where it cannot be had."""
    try:
        with Path(path).open("rb") as file:
            return file.read(limit_bytes + 1)
    except IsADirectoryError:
        message, hint = "is a directory; a file is required.", f"{Path(path) / 'arci.yaml'}"
    except FileNotFoundError:
        message, hint = "does not exist; a file is required.", None
    except (OSError, ValueError) as error:
        message, hint = f"cannot be read: {getattr(error, 'strerror', None) or error}.", None
    raise SpecError([Problem(str(path), "", message, hint)])


def read_descriptor(
    data: bytes, path: str | Path, *, overrides: Overrides | None = None, faults: FaultKinds | None = None
) -> Descriptor:
    """As `load_descriptor`, of the bytes of the file at `path` (which need not be there)."""
    node, notes = read_yaml(data)
    source = Source(str(path), node)
    if node is None:
        raise SpecError(source.noted(notes))
    if not isinstance(node.value, dict):
        message = f"{show(node.plain())} is not a mapping; a mapping of keys such as experiment_id is required."
        raise SpecError([*source.noted(notes), source.problem(Finding((), message))])
    refuse_other_document(source)
    overrides = overrides or Overrides()
    unseen = list(_behind(source, overrides))
    source = dataclasses.replace(source, root=_overridden(node, overrides))
    noted = {note.path for note in notes if note.path}
    root = Path(path).absolute().parent
    faults = _own_faults() if faults is None else faults
    shape, findings = _examined(source, root, faults)
    kept = [finding for finding in dict.fromkeys(findings) if finding.path not in noted]
    tasks, problems = _tasks(shape, root) if shape else ([], [])
    ordered = sorted(kept, key=lambda finding: source.line(finding.path))
    problems = [*source.noted(notes), *unseen, *(source.problem(finding) for finding in ordered), *problems]
    if problems or shape is None:
        raise SpecError(list({str(problem): problem for problem in problems}.values()))
    return Descriptor(Path(path), root, shape, document_of(shape, tasks, faults), tuple(warnings_of(shape, root)))


def _examined(source: Source, root: Path, faults: FaultKinds) -> tuple[DescriptorShape | None, list[Finding]]:
    """The shape where keys and types are right, and everything that is wrong, there or across keys."""
    given = source.root.plain() if source.root else {}
    data, findings = without_later(given)
    shape: DescriptorShape | None = None
    try:
        shape = DescriptorShape.model_validate(data)
    except ValidationError as error:
        findings.extend(complaints(error))
    findings.extend(experiment_findings(data))
    findings.extend(fault_findings(data, faults))
    findings.extend(program_findings(data))
    findings.extend(upstream_findings(data))
    findings.extend(place_findings(data, given))
    findings.extend(place_files(data, root))
    findings.extend(_separation(shape, root) if shape else ())
    return shape, findings


def _behind(source: Source, overrides: Overrides) -> Iterator[Problem]:
    """What is wrong in the file where the command line says otherwise: it is wrong all the same."""
    given = source.root.plain() if source.root else {}
    keys = {"n_per_arm": overrides.n_per_arm, "isolation": overrides.backend}
    data = {key: given[key] for key, value in keys.items() if value is not None and key in given}
    try:
        DescriptorShape.model_validate(data)
    except ValidationError as error:
        yield from (source.problem(finding) for finding in complaints(error) if finding.path[0] in data)


def _separation(shape: DescriptorShape, root: Path) -> Iterator[Finding]:
    isolation = shape.isolation if isinstance(shape.isolation, IsolationShape) else IsolationShape()
    shared = shared_images(requests_of(shape, root))
    if isolation.require_separate_images and shared:
        message = f"is true, and the image of {' and '.join(shared)} also holds world or oracle; an image of its own."
        yield Finding(("isolation", "require_separate_images"), message, "set context or image on each arm.")
    backend = shape.isolation if isinstance(shape.isolation, str) else isolation.backend
    if backend == "process" and grader_source(shape) != project_source(shape):
        message = "comes from another directory than images.boundary; process isolation has one for world and oracle."
        yield Finding(("images", "grader"), message)


def _tasks(shape: DescriptorShape, root: Path) -> tuple[list[dict[str, Any]], list[Problem]]:
    if isinstance(shape.tasks, str):
        return read_tasks(shape.tasks, root)
    if shape.tasks is not None:
        return [task.model_dump() for task in shape.tasks], []
    value, problems = (shape.task or {}, []) if shape.task_file is None else read_task(shape.task_file, root)
    return [{"id": shape.task_id or shape.experiment_id, "task": value}], problems


def _overridden(node: Node, overrides: Overrides) -> Node:
    """The root with what the command line sets, under line 0."""
    entries = dict(node.value)
    if overrides.n_per_arm is not None:
        entries["n_per_arm"] = Node(overrides.n_per_arm, 0)
    if overrides.backend is not None:
        backend = Node(overrides.backend, 0)
        old = entries.get("isolation")
        if old is not None and isinstance(old.value, dict):
            backend = dataclasses.replace(old, value={**old.value, "backend": backend})
        entries["isolation"] = backend
    return dataclasses.replace(node, value=entries)


def _own_faults() -> FaultKinds:
    from arci.faults.registry import BUILTIN

    return BUILTIN
