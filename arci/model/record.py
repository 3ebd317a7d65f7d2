"""The sealed result of one trial: its digests, its chain of events, its comparable trace. Pure, host side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arci.model.canonical import digest

__all__ = [
    "CHAIN_START",
    "RECORD_FORMAT",
    "chain_events",
    "record_is_sealed",
    "seal_record",
    "trace_sha256",
    "trace_steps",
]

RECORD_FORMAT = "arci.record/1"
CHAIN_START = "0" * 64
"""What the first link of a chain has before it."""

_COMPARABLE: dict[str, tuple[str, ...]] = {
    "model_step": ("summary", "facts"),
    "tool_start": ("tool", "occurrence", "arguments"),
    "tool_finish": ("tool", "occurrence", "ok", "value", "error_kind", "injected_by"),
    "relay": ("server", "method", "params", "ok"),
    "model_start": ("upstream", "occurrence", "path", "model", "messages_sha256"),
    "model_finish": ("upstream", "occurrence", "ok", "error_kind", "injected_by", "text", "tool_calls"),
    "injection": ("fault", "tool", "occurrence"),
    "violation": ("invariant", "tool"),
    "agent_result": ("claim",),
    "trial_end": ("ending",),
}
"""Kind of event -> the fields two runs of the same trial are compared by: no times, no identity, no call ids.

Notifications, progress, late answers, cancellations, how servers ended and what broke the protocol are left out: when
or whether they come depends on timing."""


def trace_steps(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The comparable steps of a trial's events, in order."""
    steps = []
    for event in events:
        names = _COMPARABLE.get(event["kind"])
        if names is not None:
            steps.append({"kind": event["kind"], **{name: event.get(name) for name in names}})
    return steps


def trace_sha256(events: Iterable[Mapping[str, Any]]) -> str:
    """Digest over the comparable steps alone: equal across back ends for the same behaviour."""
    return digest(trace_steps(events))


def chain_events(trial_id: str, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events with `trial_id`, `seq` (0-based) and `sha256`, each digest over the one before and the event."""
    before, chained = CHAIN_START, []
    for seq, event in enumerate(events):
        body = {**event, "trial_id": trial_id, "seq": seq}
        before = digest([before, body])
        chained.append({**body, "sha256": before})
    return chained


def seal_record(record: Mapping[str, Any], previous_sha256: str) -> dict[str, Any]:
    """The record with `previous_sha256` (digest of the record before it in the store) and its own `record_sha256`."""
    body = {**record, "previous_sha256": previous_sha256}
    body.pop("record_sha256", None)
    return {**body, "record_sha256": digest(body)}


def record_is_sealed(record: Mapping[str, Any]) -> bool:
    """True if `record_sha256` is the digest of everything else in the record."""
    body = {k: v for k, v in record.items() if k != "record_sha256"}
    return record.get("record_sha256") == digest(body)
