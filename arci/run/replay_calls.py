"""The calls of a recording with the answers that the agent got, out of the events of its trial. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["recorded_calls"]

_DECIDED_ANEW = ("refused", "budget")
"""Contract and budgets hold in a replay, too: what they refuse is not looked up."""


def recorded_calls(events: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each with `kind`, `name`, `payload` and `answer` (docs/reference/control-channel.md), in the order in which they
    were made. KeyError, TypeError or AttributeError for events that no recorder wrote."""
    finished = {event["call_id"]: event for event in events if event["kind"] == "tool_finish"}
    injected: dict[Any, list[dict[str, Any]]] = {}
    for event in events:
        if event["kind"] == "injection":
            fault = {"fault": event["fault"], "fault_index": event["fault_index"]}
            injected.setdefault(event["call_id"], []).append(fault)
    for event in events:
        if event["kind"] == "relay":
            yield _relay(event)
        elif event["kind"] == "tool_start":
            finish = finished.get(event["call_id"])
            if finish is None or finish["error_kind"] not in _DECIDED_ANEW:
                yield _tool(event, finish, injected.get(event["call_id"], []))


def _tool(
    start: Mapping[str, Any], finish: Mapping[str, Any] | None, injections: list[dict[str, Any]]
) -> dict[str, Any]:
    answer = {"injections": injections, **(_unanswered() if finish is None else _answered(finish))}
    return {"kind": "tool", "name": start["tool"], "payload": dict(start["arguments"]), "answer": answer}


def _unanswered() -> dict[str, Any]:
    """The recording ended before the call did."""
    return {"ok": False, "value": "", "error_kind": "environment", "injected_by": None, "is_held": True}


def _answered(finish: Mapping[str, Any]) -> dict[str, Any]:
    was_heard = finish.get("heard", True) is True and finish["error_kind"] != "cancelled"
    kept = {"too_long": finish["result_bytes"]} if "result_bytes" in finish else {}
    text = {"result": str(finish["result"])} if "result" in finish else {}
    return {
        **{name: finish[name] for name in ("ok", "value", "error_kind", "injected_by")},
        "is_held": not was_heard,
        **kept,
        **text,
    }


def _relay(event: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"is_gone": True}
    if "error" in event:
        answer = {"error": dict(event["error"])}
    elif "result_bytes" in event:
        answer = {"too_long": event["result_bytes"]}
    elif "result" in event:
        answer = {"result": str(event["result"])}
    return {
        "kind": "relay",
        "name": f"{event['server']} {event['method']}",
        "payload": dict(event["params"]),
        "answer": answer,
    }
