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
    answered = {event["call_id"]: event for event in events if event["kind"] == "model_finish"}
    injected: dict[Any, list[dict[str, Any]]] = {}
    for event in events:
        if event["kind"] == "injection":
            fault = {"fault": event["fault"], "fault_index": event["fault_index"]}
            injected.setdefault((event["tool"], event["call_id"]), []).append(fault)
    for event in events:
        if event["kind"] == "relay":
            yield _relay(event)
        elif event["kind"] == "upstream_lookup":
            yield _lookup(event)
        elif event["kind"] == "model_start":
            injections = injected.get((f"model:{event['upstream']}", event["call_id"]), [])
            yield _model(event, answered.get(event["call_id"]), injections)
        elif event["kind"] == "tool_start":
            finish = finished.get(event["call_id"])
            if finish is None or finish["error_kind"] not in _DECIDED_ANEW:
                yield _tool(event, finish, injected.get((event["tool"], event["call_id"]), []))


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
        **({"status": finish["status"]} if "status" in finish else {}),
    }


_MOST_RESPONSE = 1024 * 1024
"""Bytes of a model's answer that a record keeps whole."""
_OF_ANSWER = ("status", "headers", "response", "chunks", "error_kind", "injected_by", "executed", "usage")


def _model(
    start: Mapping[str, Any], finish: Mapping[str, Any] | None, injections: list[dict[str, Any]]
) -> dict[str, Any]:
    """Compared by the digest of what was asked, since a long request is kept by its head."""
    answer: dict[str, Any] = {"injections": injections, **dict.fromkeys(_OF_ANSWER), "error_kind": "cancelled"}
    if finish is not None:
        answer |= {name: finish[name] for name in _OF_ANSWER}
        size = sum(finish["chunks"])
        answer |= {"too_long": size} if size > _MOST_RESPONSE else {}
    return {
        "kind": "model",
        "name": f"{start['upstream']} {start['path']}",
        "payload": start["request"],
        "digest": [start["messages_sha256"], start["stream"]],
        "answer": answer,
    }


def _lookup(event: Mapping[str, Any]) -> dict[str, Any]:
    headers = [["content-type", "application/json"]]
    answer = {"headers": headers, "chunks": [], **{name: event[name] for name in ("status", "response", "error_kind")}}
    name = f"{event['upstream']} {event['method']} {event['path']}"
    return {"kind": "lookup", "name": name, "payload": event["request"], "answer": answer}


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
