"""What `events.jsonl` holds: `started` lines, and a block of chained events per sealed trial. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arci.model.canonical import digest
from arci.model.record import chain_events, trace_sha256
from arci.store.layout import EVENTS
from arci.store.lines import Line
from arci.store.run import StoreProblem

__all__ = ["Block", "EventLog", "read_event_log", "started_line"]


def started_line(trial_id: str, attempt: int) -> dict[str, Any]:
    """The line that is synced before an agent starts; its `sha256` is the digest of the rest."""
    body = {"kind": "started", "trial_id": trial_id, "attempt": attempt}
    return {**body, "sha256": digest(body)}


@dataclass(frozen=True, slots=True)
class Block:
    """The events of one trial whose chain holds."""

    trial_id: str
    events: int
    sha256: str
    trace_sha256: str


@dataclass(slots=True)
class EventLog:
    """What was found in the file."""

    lines: int = 0
    started: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    problems: list[StoreProblem] = field(default_factory=list)


def read_event_log(lines: Iterable[Line]) -> EventLog:
    """Checks every line; holds the events of one trial at a time."""
    log = EventLog()
    open_block: list[Mapping[str, Any]] = []
    first_line = 0
    for line in lines:
        log.lines += 0 if line.is_torn else 1
        if not _continues(open_block, line):
            _close(log, open_block, first_line)
            open_block, first_line = [], line.number
        if line.value is None:
            log.problems.append(StoreProblem(f"{EVENTS}:{line.number}", line.problem, is_torn=line.is_torn))
        elif "seq" in line.value:
            open_block.append(line.value)
        else:
            _take_started(log, line.number, line.value)
    _close(log, open_block, first_line)
    return log


def _continues(block: list[Mapping[str, Any]], line: Line) -> bool:
    value = line.value
    return bool(block) and value is not None and value.get("seq") == len(block) and _same_trial(block[0], value)


def _same_trial(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one.get("trial_id") == other.get("trial_id"))


def _take_started(log: EventLog, number: int, value: Mapping[str, Any]) -> None:
    trial_id = _text(value.get("trial_id"))
    body = {k: v for k, v in value.items() if k != "sha256"}
    if trial_id is None or value.get("kind") != "started" or value.get("sha256") != digest(body):
        log.problems.append(StoreProblem(f"{EVENTS}:{number}", "not what was written here", trial_id))
    else:
        log.started.append(trial_id)


def _close(log: EventLog, block: list[Mapping[str, Any]], first_line: int) -> None:
    if not block:
        return
    trial_id = _text(block[0].get("trial_id"))
    try:
        bodies = [{k: v for k, v in event.items() if k not in ("trial_id", "seq", "sha256")} for event in block]
        if trial_id is None or chain_events(trial_id, bodies) != block:
            raise ValueError
        log.blocks.append(Block(trial_id, len(block), block[-1]["sha256"], trace_sha256(bodies)))
    except (KeyError, TypeError, ValueError):
        where = f"{EVENTS}:{first_line}"
        log.problems.append(StoreProblem(where, f"the chain of its {len(block)} events does not hold", trial_id))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
