"""Synthetic runs: a valid store, or what would be read from one, with chosen outcomes and without running anything.

    outcomes = {"baseline": "P" * 192 + "F" * 8, "candidate": "P" * 132 + "F" * 68}
    decision = decide(read_run(make_run(tmp_path, outcomes=outcomes)))
    decision = decide(evidence(outcomes=outcomes))  # the same in memory, 20 times as fast

Each letter is the outcome of one trial of every condition: P(ASS), F(AIL), E(RROR).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from arci.manifest.schedule import schedule
from arci.model.canonical import canonical, digest
from arci.model.manifest import MANIFEST_FORMAT, Manifest, manifest_sha256
from arci.model.record import CHAIN_START, RECORD_FORMAT, chain_events, seal_record, trace_sha256
from arci.model.trial import ARMS, Trial
from arci.store.logs import LogTail, describe_logs
from arci.store.run import StoredRun
from arci.store.verify import seal_info
from arci.store.writer import RunWriter

__all__ = [
    "Parts",
    "condition",
    "edit_info",
    "edit_records",
    "evidence",
    "fault",
    "make_run",
    "manifest_document",
    "trial_parts",
    "write_records",
]

NOW = "2026-01-02T03:04:05.000+00:00"
Parts = tuple[dict[str, Any], list[dict[str, Any]], dict[str, dict[str, LogTail]]]
"""What the store appends for one trial: record, events, logs."""


def fault(name: str = "tool_timeout", **changes: Any) -> dict[str, Any]:
    """A fault as a manifest holds it: by default on the first call of `reserve`, at least one injection."""
    return {
        "name": name,
        "bucket": "falsify",
        "tool": "reserve",
        "occurrence": {"kind": "nth", "n": 0},
        "probability": 1.0,
        "min_injections": 1,
        "params": {},
        **changes,
    }


def condition(id: str = "reserve-timeout", bucket: str = "falsify", *faults: Mapping[str, Any]) -> dict[str, Any]:
    """A condition as a manifest holds it; every bucket but `ceiling` gates."""
    return {"id": id, "bucket": bucket, "is_gating": bucket != "ceiling", "faults": [dict(f) for f in faults]}


def manifest_document(**changes: Any) -> dict[str, Any]:
    """A sealed manifest of a small experiment; `changes` replace top-level keys before it is sealed."""
    document: dict[str, Any] = {
        "format": MANIFEST_FORMAT,
        "experiment_id": "synthetic",
        "tasks": [{"id": "task", "task": {"order_id": "order-7"}}],
        "environment": {"kind": "toolset", "ref": "world:make"},
        "contract": {
            "max_tool_calls": None,
            "forbidden_tools": [],
            "required_tools": [],
            "max_calls_per_tool": {},
            "hard": [],
        },
        "grader": {"kind": "python", "ref": "world:oracle", "argv": []},
        "arms": {arm: _arm(label) for arm, label in zip(ARMS, ("A", "B"), strict=True)},
        "conditions": [condition("reserve-timeout", "falsify", fault())],
        "alpha": 0.05,
        "delta": 0.10,
        "n_per_arm": 8,
        "interval_method": "clopper_pearson",
        "looks": [],
        "on_error": "invalidate",
        "base_seed": 12000,
        "budgets": {
            "max_tool_calls": 10,
            "max_model_steps": 10,
            "max_seconds": 15.0,
            "grader_seconds": 20.0,
            "setup_seconds": 120.0,
            "tool_seconds": 30.0,
        },
        "isolation": _isolation(),
        "evidence": [],
        "secrets": [],
        "prior_runs": [],
        "project_source": ".",
        "images": {name: {"sha256": digest(name)} for name in ("baseline", "candidate", "project")},
        "runtime_sha256": digest("runtime"),
        "volatile": {"root": "/somewhere"},
    }
    document.update(changes)
    return {**document, "record_sha256": manifest_sha256(document)}


def make_run(
    out_dir: Path,
    *,
    outcomes: Mapping[str, str] | None = None,
    document: Mapping[str, Any] | None = None,
    parts: Callable[[Trial, str], Parts] | None = None,
    skip: Iterable[str] = (),
    finish: bool = True,
    **changes: Any,
) -> Path:
    """Writes a store below `out_dir` and returns its directory.

    `outcomes`: arm -> one letter per index; its length becomes `n_per_arm`; eight times P by default. `changes`: of the
    manifest. `parts(trial, letter)` makes what is appended (default `trial_parts`). `skip`: trial ids left out.
    """
    outcomes = outcomes or dict.fromkeys(ARMS, "P" * 8)
    if document is None:
        document = manifest_document(n_per_arm=len(outcomes["baseline"]), **changes)
    manifest, left_out = Manifest.from_document(document), set(skip)
    with RunWriter.create(
        out_dir, document, "11111111-2222-3333-4444-555555555555", engine_facts={"name": "none"}, now=lambda: NOW
    ) as writer:
        for trial in schedule(manifest):
            if trial.trial_id not in left_out:
                writer.started(trial.trial_id, 1)
                made = (parts or trial_parts)(trial, outcomes[trial.arm][trial.index])
                writer.append(with_images(made[0], manifest), *made[1:])
        if finish:
            writer.finish("complete")
        return writer.directory


def evidence(
    *,
    outcomes: Mapping[str, str] | None = None,
    parts: Callable[[Trial, str], Parts] | None = None,
    **changes: Any,
) -> StoredRun:
    """What `read_run` gives for the store that `make_run` would write."""
    outcomes = outcomes or dict.fromkeys(ARMS, "P" * 8)
    document = manifest_document(n_per_arm=len(outcomes["baseline"]), **changes)
    manifest, previous, records = Manifest.from_document(document), CHAIN_START, []
    for trial in schedule(manifest):
        record, events, logs = (parts or trial_parts)(trial, outcomes[trial.arm][trial.index])
        body = {
            **with_images(record, manifest),
            "format": RECORD_FORMAT,
            "manifest_sha256": manifest.sha256,
            "recording": {"events": len(events), "sha256": chain_events(trial.trial_id, events)[-1]["sha256"]},
            "trace_sha256": trace_sha256(events),
            "logs": describe_logs(logs),
        }
        records.append(seal_record(body, previous))
        previous = records[-1]["record_sha256"]
    facts = {"experiment_id": manifest.experiment_id, "manifest_sha256": manifest.sha256, "interrupted": []}
    return StoredRun(document, tuple(records), {**facts, "state": "complete", "engine": {}, "warnings": []})


def trial_parts(trial: Trial, letter: str, **changes: Any) -> Parts:
    """A believable record, events and logs of one trial in which the first fault was injected once."""
    injected = {"fault": "tool_timeout", "fault_index": 0, "tool": "reserve", "occurrence": 0}
    ending = {"P": "completed", "F": "completed", "E": "harness"}[letter]
    events = [
        {"kind": "trial_start", "task_id": trial.task_id, "at_s": 0.0},
        {"kind": "tool_start", "tool": "reserve", "call_id": "1", "occurrence": 0, "arguments": {"n": trial.seed}},
        {"kind": "injection", **injected, "call_id": "1"},
        {"kind": "trial_end", "ending": ending, "at_s": 0.25},
    ]
    record = {
        **{name: getattr(trial, name) for name in ("trial_id", "pair_id", "arm", "condition_id", "index", "task_id")},
        "seed": trial.seed,
        "trial_sha256": trial.trial_sha256,
        **_judgement(letter, ending),
        "agent": {
            "exit_code": 0,
            "signal": None,
            "claim": {"done": True},
            "failure": None,
            "exec_errno": None,
            "oom_kills": 0,
        },
        "contract": {"success": {"P": True, "F": False, "E": None}[letter], "violations": [], "required_missing": []},
        "injections": [injected],
        "environment": {"tools_sha256": digest("tools"), "servers": []},
        "initial_state": {"confirmed": False},
        "final_state": {"confirmed": letter == "P"},
        "evidence": {"sha256": None, "files": {}},
        "usage": {
            "tool_calls": 1,
            "model_steps": 0,
            "relays": 0,
            "notifications": 0,
            "agent_seconds": 0.25,
            "peak_memory_bytes": None,
        },
        "phases": dict.fromkeys(("create", "start", "ready", "agent", "seal", "grade"), 0.125),
        "attempts": [],
        "started_at": NOW,
        "ended_at": NOW,
        **changes,
    }
    logs = {"agent": {"stdout": LogTail(f"seed {trial.seed}\n".encode(), b"", 11), "stderr": LogTail(b"", b"", 0)}}
    return record, events, logs


def with_images(record: dict[str, Any], manifest: Manifest) -> dict[str, Any]:
    """The record with the image identities that its manifest names, unless it names its own."""
    return {"images": manifest.image_digests(record["arm"]), **record}


def edit_records(store: Path, edit: Callable[[dict[str, Any]], None], *, reseal: bool = True) -> None:
    """Changes every record in place; `reseal` makes seals, chain and `run.json` fit again, as a forger would."""
    records = read_jsonl(store / "trials.jsonl")
    for record in records:
        edit(record)
    write_records(store, records, reseal=reseal)


def write_records(store: Path, records: list[dict[str, Any]], *, reseal: bool = True) -> None:
    """Replaces `trials.jsonl`; see `edit_records`."""
    previous, written = CHAIN_START, []
    for record in records:
        written.append(seal_record(record, previous) if reseal else record)
        previous = written[-1]["record_sha256"]
    (store / "trials.jsonl").write_bytes(b"".join(canonical(record) + b"\n" for record in written))
    if reseal:
        edit_info(store, records=len(written), last_record_sha256=previous)


def edit_info(store: Path, **changes: Any) -> None:
    """Changes keys of `run.json` and seals it again."""
    info = json.loads((store / "run.json").read_bytes())
    (store / "run.json").write_bytes(canonical(seal_info({**info, **changes})) + b"\n")


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Every line of a file as JSON."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _judgement(letter: str, ending: str) -> dict[str, Any]:
    if letter == "P":
        return {"outcome": "PASS", "ending": ending, "blame": None, "detail": "", "fingerprint": None}
    if letter == "F":
        detail = "the oracle refuses the final state"
        return {
            "outcome": "FAIL",
            "ending": ending,
            "blame": "agent",
            "detail": detail,
            "fingerprint": "oracle|reserve timeout tool_timeout",
        }
    detail = "the recorder sent an invalid frame"
    return {"outcome": "ERROR", "ending": ending, "blame": "harness", "detail": detail, "fingerprint": "harness|frame"}


def _arm(label: str) -> dict[str, Any]:
    return {
        "label": label,
        "kind": "python",
        "ref": "agents:run",
        "argv": [],
        "env": {},
        "secret_env": {},
        "infra_exit_codes": [],
        "source": ".",
    }


def _isolation() -> dict[str, Any]:
    return {
        "backend": "process",
        "runtime": None,
        "memory_bytes": 512 << 20,
        "cpus": None,
        "pids": 256,
        "disk_bytes": 256 << 20,
        "files": 1024,
        "user": None,
        "read_only": True,
        "caps": [],
        "platform": None,
        "fresh_namespace": False,
        "require_separate_images": False,
        "allow_unenforced": False,
    }
