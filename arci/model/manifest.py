"""The sealed manifest as frozen data, read from its JSON document. Pure, host side.

`manifest/` makes and seals the document; this module only reads a valid one (KeyError, TypeError or ValueError else).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from arci.model.canonical import digest
from arci.model.environment import Environment, Server, Snapshot, environment_of
from arci.model.upstream import Decisions, Model, UpstreamEnv, decisions_of, model_of

__all__ = [
    "MANIFEST_FORMAT",
    "UNSEALED_KEYS",
    "Arm",
    "Budgets",
    "Condition",
    "Contract",
    "Decisions",
    "Environment",
    "FaultSpec",
    "Grader",
    "Isolation",
    "Manifest",
    "Model",
    "Occurrence",
    "Server",
    "Snapshot",
    "Task",
    "UpstreamEnv",
    "manifest_sha256",
]

MANIFEST_FORMAT = "arci.manifest/1"
UNSEALED_KEYS = frozenset({"record_sha256", "volatile"})
"""Top-level keys that the manifest's own digest leaves out."""


def manifest_sha256(document: Mapping[str, Any]) -> str:
    """The seal: digest over everything but itself and the volatile fields (64 hex digits)."""
    return digest({k: v for k, v in document.items() if k not in UNSEALED_KEYS})


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Grader:
    """`kind` is `python` (`ref` = `module:function`) or `command` (`argv`: JSON on stdin, JSON on stdout)."""

    kind: str
    ref: str | None
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    max_tool_calls: int | None
    forbidden_tools: tuple[str, ...]
    required_tools: tuple[str, ...]
    max_calls_per_tool: dict[str, int]
    hard: tuple[str, ...]
    """Names of the invariants (the four fields above) whose violation BLOCKs."""


@dataclass(frozen=True, slots=True)
class Arm:
    """`kind` is `python` (`ref`) or `command` (`argv`; empty = the image's ENTRYPOINT + CMD)."""

    name: str
    label: str
    kind: str
    ref: str | None
    argv: tuple[str, ...]
    env: dict[str, str]
    secret_env: dict[str, str]
    """Variable of the agent -> name of the declared host variable whose value it takes (only names are sealed)."""
    infra_exit_codes: tuple[int, ...]
    source: str
    """Directory of the arm's code, relative to the descriptor's; what `process` isolation puts on the path."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Which calls of a tool a fault meets: `nth` (exactly call n), `from` (n and later), `every`. 0-based."""

    kind: str
    n: int


@dataclass(frozen=True, slots=True)
class FaultSpec:
    name: str
    bucket: str
    tool: str | None
    """None: every tool."""
    occurrence: Occurrence
    probability: float
    min_injections: int
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    id: str
    bucket: str
    """`clean`, `benign`, `falsify` or `ceiling`."""
    is_gating: bool
    faults: tuple[FaultSpec, ...]


@dataclass(frozen=True, slots=True)
class Budgets:
    max_tool_calls: int
    max_model_steps: int
    max_seconds: float
    grader_seconds: float
    setup_seconds: float
    tool_seconds: float
    max_model_calls: int = 50
    """Over all models. This and the next two are not in manifests from before there were any."""
    max_tokens: int | None = None
    max_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Isolation:
    backend: str
    """`process`, `docker`, or `fake` (tests)."""
    runtime: str | None
    memory_bytes: int
    cpus: float | None
    pids: int
    disk_bytes: int
    files: int
    user: str | None
    read_only: bool
    caps: tuple[str, ...]
    platform: str | None
    fresh_namespace: bool
    require_separate_images: bool
    allow_unenforced: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    experiment_id: str
    tasks: tuple[Task, ...]
    environment: Environment
    contract: Contract
    grader: Grader
    arms: dict[str, Arm]
    conditions: tuple[Condition, ...]
    alpha: float
    delta: float
    n_per_arm: int
    interval_method: str
    looks: tuple[int, ...]
    on_error: str
    base_seed: int
    budgets: Budgets
    models: tuple[Model, ...]
    """Empty in manifests from before there were any, as `decisions` is None."""
    decisions: Decisions | None
    isolation: Isolation
    evidence: tuple[str, ...]
    secrets: tuple[str, ...]
    prior_runs: tuple[Any, ...]
    project_source: str
    """Directory of world and oracle, relative to the descriptor's."""
    images: dict[str, Any]
    """docker: `baseline`, `candidate`, `boundary`, `grader`, and `server:<name>` for each server with an image of its
    own -> image identity (`sha256`, `platform`, ...).
    process: `baseline`, `candidate`, `project` -> source digest, `interpreter`, `distributions`."""
    runtime_sha256: str
    """Digest of what ARCI itself runs inside guests."""
    sha256: str
    """The seal, as recomputed from the document."""
    volatile: dict[str, Any]
    """Not sealed: `root` (absolute descriptor directory), `image_refs` (role or arm -> engine image id), times."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Manifest:
        """The typed view of a manifest document. Raises KeyError, TypeError or ValueError on a malformed one."""
        if document["format"] != MANIFEST_FORMAT:
            raise ValueError(f"format: {document['format']!r}; {MANIFEST_FORMAT!r} is what this version reads")
        contract = document["contract"]
        return cls(
            experiment_id=document["experiment_id"],
            tasks=tuple(Task(t["id"], t["task"]) for t in document["tasks"]),
            environment=environment_of(document["environment"]),
            contract=Contract(
                max_tool_calls=contract["max_tool_calls"],
                forbidden_tools=tuple(contract["forbidden_tools"]),
                required_tools=tuple(contract["required_tools"]),
                max_calls_per_tool=dict(contract["max_calls_per_tool"]),
                hard=tuple(contract["hard"]),
            ),
            grader=Grader(document["grader"]["kind"], document["grader"]["ref"], tuple(document["grader"]["argv"])),
            arms={name: _arm(name, arm) for name, arm in document["arms"].items()},
            conditions=tuple(_condition(c) for c in document["conditions"]),
            alpha=document["alpha"],
            delta=document["delta"],
            n_per_arm=document["n_per_arm"],
            interval_method=document["interval_method"],
            looks=tuple(document["looks"]),
            on_error=document["on_error"],
            base_seed=document["base_seed"],
            budgets=Budgets(**document["budgets"]),
            models=tuple(model_of(model) for model in document.get("models", ())),
            decisions=decisions_of(document.get("decisions")),
            isolation=Isolation(**{**document["isolation"], "caps": tuple(document["isolation"]["caps"])}),
            evidence=tuple(document["evidence"]),
            secrets=tuple(document["secrets"]),
            prior_runs=tuple(document["prior_runs"]),
            project_source=document["project_source"],
            images=dict(document["images"]),
            runtime_sha256=document["runtime_sha256"],
            sha256=manifest_sha256(document),
            volatile=dict(document.get("volatile", {})),
        )

    def condition(self, condition_id: str) -> Condition:
        """The condition of that id; KeyError else."""
        for condition in self.conditions:
            if condition.id == condition_id:
                return condition
        raise KeyError(condition_id)

    @property
    def own_images(self) -> tuple[Server, ...]:
        """The servers that run in containers of their own."""
        return tuple(server for server in self.environment.servers if server.has_image)

    def image_digests(self, arm: str) -> dict[str, str | None]:
        """What the records of an arm name under `images`: role -> digest of what it runs, None where the manifest
        names nothing (fake). docker: of the image identity, `server:<name>` for each server with an image of its own;
        process: of the source, `project` for the trusted side."""
        names = {"agent": (arm,), "boundary": ("boundary", "project"), "grader": ("grader", "project")}
        names |= {f"server:{server.name}": (f"server:{server.name}",) for server in self.own_images}
        return {
            role: next((self.images[name]["sha256"] for name in of_role if name in self.images), None)
            for role, of_role in names.items()
        }


def _arm(name: str, value: Mapping[str, Any]) -> Arm:
    return Arm(
        name=name,
        label=value["label"],
        kind=value["kind"],
        ref=value["ref"],
        argv=tuple(value["argv"]),
        env=dict(value["env"]),
        secret_env=dict(value["secret_env"]),
        infra_exit_codes=tuple(value["infra_exit_codes"]),
        source=value["source"],
    )


def _condition(value: Mapping[str, Any]) -> Condition:
    names = [f.name for f in fields(FaultSpec)]
    faults = []
    for fault in value["faults"]:
        parts = {name: fault[name] for name in names}
        parts["occurrence"] = Occurrence(**fault["occurrence"])
        faults.append(FaultSpec(**parts))
    return Condition(value["id"], value["bucket"], value["is_gating"], tuple(faults))
