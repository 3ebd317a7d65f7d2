"""The recorded trial inside a bundle: manifest, record, events and logs, each held against the others. Pure.

Writer and reader use the same checks, so what was written can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from arci.bundle.members import log_member
from arci.bundle.refusal import BundleError
from arci.gate.identity import check_records
from arci.manifest.schedule import schedule
from arci.model.canonical import digest_bytes
from arci.model.manifest import Manifest
from arci.model.record import CHAIN_START
from arci.model.trial import ARMS, Trial
from arci.store.events import read_event_log
from arci.store.lines import Line, parse_object
from arci.store.logs import LogTail

__all__ = ["LogEntry", "check_events", "check_record", "kept_log", "log_entries", "parse_events"]

_MOST_TRIALS = 100_000
"""Per arm, as a descriptor allows."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One stream of the record's `logs` that has a member."""

    role: str
    stream: str
    member: str
    bytes: int
    head_bytes: int
    kept_sha256: str


def check_record(manifest: Manifest, record: Mapping[str, Any]) -> Trial:
    """The planned trial that the record is of. BundleError unless it is whole, sealed, and of this very manifest."""
    trial = _planned(manifest, record)
    objections = check_records(manifest, [trial], [record])[1]
    # The record before it stays in its run, so this one link leads nowhere.
    wrong = [objection for objection in objections if objection.kind != "broken chain"]
    if wrong:
        raise BundleError(f"record.json: {wrong[0].message}.")
    return trial


def _planned(manifest: Manifest, record: Mapping[str, Any]) -> Trial:
    """Found without the whole schedule, which a hostile manifest can make endless."""
    condition_id, index, arm = record.get("condition_id"), record.get("index"), record.get("arm")
    conditions = tuple(c for c in manifest.conditions if c.id == condition_id)
    if len(conditions) != 1 or type(index) is not int or not 0 <= index < min(manifest.n_per_arm, _MOST_TRIALS):
        raise BundleError("record.json: the manifest plans no trial of that condition and index.")
    if arm not in ARMS:
        raise BundleError("record.json: the manifest has no such arm.")
    few = schedule(replace(manifest, conditions=conditions, n_per_arm=index + 1))
    return next(trial for trial in few if (trial.index, trial.arm) == (index, arm))


def check_events(record: Mapping[str, Any], data: bytes, line_bytes: int) -> None:
    """BundleError unless `data` is the lines of exactly the events that the record sealed."""
    log = read_event_log(_lines(data, line_bytes))
    if log.problems:
        raise BundleError(f"events.jsonl: {log.problems[0].message}.")
    found = [(b.trial_id, b.events, b.sha256, b.trace_sha256) for b in log.blocks]
    sealed = record["recording"]
    expected = (record["trial_id"], sealed["events"], sealed["sha256"], record["trace_sha256"])
    is_empty = not found and (sealed["events"], sealed["sha256"]) == (0, CHAIN_START)
    if log.started or not (found == [expected] or is_empty):
        raise BundleError("events.jsonl: it does not hold the events that the record sealed.")


def parse_events(data: bytes) -> list[dict[str, Any]]:
    """The events of checked lines."""
    return [parse_object(line) for line in data.split(b"\n")[:-1]]


def log_entries(record: Mapping[str, Any]) -> tuple[LogEntry, ...]:
    """The streams whose bytes a bundle holds: those that said something and could be kept. BundleError if malformed."""
    try:
        return tuple(
            LogEntry(
                role, stream, log_member(role, stream), facts["bytes"], facts["head_bytes"], str(facts["kept_sha256"])
            )
            for role, streams in sorted(record["logs"].items())
            for stream, facts in sorted(streams.items())
            if facts["bytes"] and facts["kept_sha256"] is not None
        )
    except (KeyError, TypeError, AttributeError):
        raise BundleError("record.json: its description of the logs cannot be read.") from None


def kept_log(entry: LogEntry, data: bytes) -> LogTail:
    """The stream from its member's bytes. BundleError if they are not what the record sealed."""
    sizes = (entry.bytes, entry.head_bytes)
    if digest_bytes(data) != entry.kept_sha256 or not all(type(size) is int for size in sizes):
        raise BundleError(f"member {entry.member!r}: is not what the record sealed.")
    if not 0 <= entry.head_bytes <= len(data) <= entry.bytes:
        raise BundleError(f"member {entry.member!r}: does not fit what the record says of its size.")
    return LogTail(data[: entry.head_bytes], data[entry.head_bytes :], entry.bytes)


def _lines(data: bytes, most_bytes: int) -> Iterator[Line]:
    *lines, rest = data.split(b"\n")
    if rest:
        raise BundleError("events.jsonl: its last line has no newline.")
    for number, raw in enumerate(lines, 1):
        if len(raw) > most_bytes:
            raise BundleError(f"events.jsonl: line {number} is {len(raw)} bytes; {most_bytes} are allowed.")
        try:
            yield Line(number, parse_object(raw))
        except ValueError as error:
            yield Line(number, None, f"line {number} is unreadable: {error}")
