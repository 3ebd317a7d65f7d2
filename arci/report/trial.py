"""One record for people, with its trace; and what is kept of a guest's output. Pure, tolerant of damaged records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arci.report.escape import clip, fold, pad, printable
from arci.report.usage import usage_words
from arci.report.words import chronological, seconds
from arci.store.logs import LogTail

__all__ = ["render_event", "render_log", "render_trial"]

_LABEL, _NARROWEST = 14, 40
_HIDDEN = frozenset({"kind", "at_s", "trial_id", "seq", "sha256", "tool", "occurrence", "call_id"})
"""Fields of an event that its line shows elsewhere, or not at all."""
_TOLD = {
    "model_start": ("path", "model", "stream"),
    "model_finish": ("ok", "status", "error_kind", "injected_by", "text", "tool_calls", "usage", "cost_usd"),
}
"""Of these kinds the fields that are told, in order: their bodies would hide them."""


def render_trial(
    record: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = (), *, width: int | None = None
) -> str:
    """The record as text of at most 100 columns, and its trace in lines of at most `width` (None: whole), ended by a
    newline."""
    return "\n".join(line.rstrip() for line in _lines(record, events, width)) + "\n"


def render_log(log: LogTail) -> str:
    """The kept output as text: line ends and tabs as they are, every other control character as an escape."""
    head, tail = _text(log.head), _text(log.tail)
    if not log.left_out:
        return head + tail
    return f"{head}\n[... {log.left_out} of {log.total} bytes were not kept ...]\n{tail}"


def _lines(record: Mapping[str, Any], events: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[str]:
    blame = f", blame: {record.get('blame')}" if record.get("blame") else ""
    yield from fold(f"{record.get('outcome')}  {record.get('trial_id')}  ({record.get('ending')}{blame})")
    if record.get("detail"):
        yield from fold(record["detail"])
    yield ""
    for label, value in _facts(record):
        first, *rest = fold(value, "", "", 100 - _LABEL - 2)
        yield f"{pad(label, _LABEL)}  {first}"
        yield from (f"{'':{_LABEL}}  {line}" for line in rest)
    yield ""
    yield "trace"
    yield from (render_event(event, width) for event in events)


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for label in ("arm", "condition_id", "task_id", "seed", "fingerprint"):
        if record.get(label) is not None:
            yield label.removesuffix("_id"), str(record[label])
    agent = _mapping(record, "agent")
    ends = {"exit code": "exit_code", "signal": "signal", "exec errno": "exec_errno", "OOM kills": "oom_kills"}
    known = [f"{name} {agent[key]}" for name, key in ends.items() if agent.get(key) is not None]
    yield "agent", ", ".join(known) or "its end is not known"
    yield "claim", f"{_json(agent.get('claim'))} (kept, never counted)"
    if agent.get("failure"):
        yield "failure", _json(agent["failure"])
    contract = _mapping(record, "contract")
    yield "oracle", _json(contract.get("success"))
    for violation in _list(contract, "violations"):
        yield "violation", _json(violation)
    for tool in _list(contract, "required_missing"):
        yield "never called", str(tool)
    for injection in _list(record, "injections"):
        yield "injection", _json(injection)
    yield from _environment(_mapping(record, "environment"))
    if record.get("initial_state") is not None:
        yield "state before", _json(record["initial_state"])
    yield "final state", _json(record.get("final_state"))
    yield "evidence", _json(record.get("evidence"))
    yield "usage", usage_words(_mapping(record, "usage"))
    for name, facts in _mapping(record, "models").items():
        yield "upstream", f"{name}: {_json(facts)}"
    phases = _mapping(record, "phases")
    yield "time", ", ".join(f"{name} {_time(value)}" for name, value in chronological(phases).items())
    for attempt in _list(record, "attempts"):
        yield "attempt before", _json(attempt)
    for role, digest in _mapping(record, "images").items():
        yield "image", f"{role} {digest}"
    for role, streams in _mapping(record, "logs").items():
        sizes = (
            ((name, _mapping(streams, name).get("bytes")) for name in streams) if isinstance(streams, Mapping) else ()
        )
        yield "log", f"{role}: {', '.join(f'{name} {size} bytes' for name, size in sizes)}"
    if record.get("record_sha256") is not None:  # a trial that was only tried is not sealed
        yield "record", str(record["record_sha256"])


def _environment(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for server in _list(environment, "servers"):
        if isinstance(server, Mapping):
            info = _mapping(server, "info")
            said = " ".join(str(info[key]) for key in ("name", "version") if info.get(key) is not None)
            yield "server", f"{server.get('name')}: {said or 'unnamed'}, MCP {server.get('revision')}"
    if environment.get("tools_sha256") is not None:
        yield "tools", str(environment["tools_sha256"])


def render_event(event: Mapping[str, Any], width: int | None = None) -> str:
    """One event as one line, cut at `width` columns (None: whole)."""
    at = event.get("at_s")
    when = f"{at:9.3f} s" if isinstance(at, int | float) else f"{'':11}"
    told = _TOLD.get(str(event.get("kind")))
    callee = event.get("tool") if told is None else event.get("upstream")
    call = f"{callee}[{event.get('occurrence')}] " if callee is not None else ""
    names = [key for key in event if key not in _HIDDEN] if told is None else [key for key in told if event.get(key)]
    rest = " ".join(f"{key}={_json(event[key])}" for key in names)
    line = f"{when}  {pad(event.get('kind'), 12)}  {printable(call + rest)}"
    return line if width is None else clip(line, max(width, _NARROWEST))


def _text(data: bytes) -> str:
    return printable(data.decode("utf-8", "backslashreplace").replace("\r\n", "\n"), keep="\n\t")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _time(value: Any) -> str:
    return seconds(value) if isinstance(value, int | float) else str(value)


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else ()
