"""The record of a trial, made of its last attempt; shape in docs/reference/store.md. The store seals it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arci.model.canonical import digest
from arci.model.record import RECORD_FORMAT
from arci.model.trial import Trial
from arci.run.attempt import Attempt
from arci.run.judgement import Judgement
from arci.run.logs import Kept, keep_logs
from arci.run.masking import Masks
from arci.run.replay import Replayed
from arci.run.setting import Setting, iso
from arci.run.usage import model_usage, upstream_facts

__all__ = ["TrialResult", "build_result", "record_events"]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What the store appends for one trial."""

    trial: Trial
    record: dict[str, Any]
    events: list[dict[str, Any]]
    logs: Kept
    agent_started: bool
    """The agent's process ran, or may have run: the trial must not be made again."""
    left_behind: str | None = None
    """What the back end could not remove after the trial, in its own words."""
    replayed: Replayed | None = None
    """Of a replay: how it followed its recording."""


def build_result(
    attempt: Attempt,
    judgement: Judgement,
    earlier: Sequence[Mapping[str, Any]],
    setting: Setting,
    started_at: datetime,
) -> TrialResult:
    """Record, events and logs, with secrets masked. `earlier`: the attempts before this one."""
    masks = setting.masks
    logs, log_entries = keep_logs(attempt.logs, masks)
    upstreams = upstream_facts(attempt.manifest, attempt.conversation.events, attempt.upstreams.asked)
    record = {
        **_identity(attempt.trial, setting),
        **_judged(judgement, masks),
        "agent": masks.value(_agent(attempt)),
        "contract": masks.value(_contract(attempt)),
        "injections": masks.value(_injections(attempt)),
        "environment": masks.value(_environment(attempt)),
        "initial_state": masks.value(attempt.initial_state),
        "final_state": masks.value(attempt.final_state),
        "evidence": masks.value(_evidence(attempt)),
        "usage": _usage(attempt, upstreams),
        "models": masks.value(upstreams),
        "phases": {name: round(seconds, 6) for name, seconds in attempt.phases.items()},
        "images": dict(setting.manifest.image_digests(attempt.trial.arm)),
        "attempts": masks.value(list(earlier)),
        "logs": log_entries,
        "started_at": iso(started_at),
        "ended_at": iso(setting.now()),
    }
    events = masks.value(record_events(attempt, judgement))
    has_begun = not attempt.may_be_made_again
    return TrialResult(attempt.trial, record, events, logs, has_begun, attempt.left_behind, attempt.replayed)


def record_events(attempt: Attempt, judgement: Judgement) -> list[dict[str, Any]]:
    """The recorder's events between the host's own two."""
    events = attempt.conversation.events
    end_s = max((event["at_s"] for event in events if isinstance(event.get("at_s"), int | float)), default=0.0)
    return [
        {"kind": "trial_start", "task_id": attempt.trial.task_id, "at_s": 0.0},
        *events,
        {"kind": "trial_end", "ending": judgement.ending.value, "at_s": end_s},
    ]


def _identity(trial: Trial, setting: Setting) -> dict[str, Any]:
    return {
        "format": RECORD_FORMAT,
        "trial_id": trial.trial_id,
        "pair_id": trial.pair_id,
        "arm": trial.arm,
        "condition_id": trial.condition_id,
        "index": trial.index,
        "task_id": trial.task_id,
        "seed": trial.seed,
        "trial_sha256": trial.trial_sha256,
        "manifest_sha256": setting.manifest.sha256,
    }


def _judged(judgement: Judgement, masks: Masks) -> dict[str, Any]:
    return {
        "outcome": judgement.outcome.value,
        "ending": judgement.ending.value,
        "blame": None if judgement.blame is None else judgement.blame.value,
        "detail": masks.text(judgement.detail),
        "fingerprint": None if judgement.fingerprint is None else masks.text(judgement.fingerprint),
    }


def _agent(attempt: Attempt) -> dict[str, Any]:
    """`arci-init` knows best how the process ended; the engine's word is taken where it says nothing."""
    init, end, failure = attempt.conversation.init, attempt.exit, attempt.failure
    is_told = init.code is not None or init.signal is not None
    return {
        "exit_code": init.code if is_told or end is None else end.code,
        "signal": init.signal if is_told or end is None else end.signal,
        "claim": attempt.claim,
        "failure": None if failure is None else {"kind": failure.kind, "message": failure.message},
        "exec_errno": init.exec_errno,
        "oom_kills": init.oom_kills,
    }


def _environment(attempt: Attempt) -> dict[str, Any]:
    """The tools as the agent was shown them, and what each server said of itself."""
    said = attempt.conversation
    keys, more = ("name", "era", "revision", "info"), ("capabilities", "instructions", "tools")
    return {
        "tools_sha256": digest(said.tools) if said.is_ready else None,
        "tools": said.tools,
        "servers": [
            {key: server.get(key) for key in keys}
            | {key: server[key] for key in more if key in server}
            | {"ended": attempt.server_ends.get(str(server.get("name")))}
            for server in said.servers
        ],
    }


def _contract(attempt: Attempt) -> dict[str, Any]:
    violations = [event for event in attempt.conversation.events if event["kind"] == "violation"]
    return {
        "success": None if attempt.grade is None else attempt.grade.success,
        "violations": [{key: event.get(key) for key in ("invariant", "tool", "detail")} for event in violations],
        "required_missing": list(attempt.required_missing) if attempt.grade is not None else [],
    }


def _injections(attempt: Attempt) -> list[dict[str, Any]]:
    keys = ("fault", "fault_index", "tool", "occurrence")
    events = attempt.conversation.events
    return [{key: event.get(key) for key in keys} for event in events if event["kind"] == "injection"]


def _evidence(attempt: Attempt) -> dict[str, Any]:
    if attempt.evidence is None:
        return {"sha256": None, "files": {}}
    return attempt.evidence.for_record()


def _usage(attempt: Attempt, upstreams: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    kinds = [event["kind"] for event in attempt.conversation.events]
    return {
        "tool_calls": kinds.count("tool_start"),
        "model_steps": kinds.count("model_step"),
        "relays": kinds.count("relay"),
        "notifications": kinds.count("notification"),
        **model_usage(upstreams),
        "paced_seconds": round(attempt.upstreams.paused_s, 6),
        "agent_seconds": round(attempt.agent_seconds, 6),
        "peak_memory_bytes": attempt.conversation.init.peak_memory_bytes,
    }
