"""The records of chosen trials with their events, read in one pass over a run store and held to their seals."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.errors import StoreError
from arci.model.canonical import canonical
from arci.model.record import chain_events, record_is_sealed, trace_sha256
from arci.store.layout import EVENTS, TRIALS
from arci.store.lines import open_regular, parse_object
from arci.store.reader import read_record

__all__ = ["Trace", "read_trace", "read_traces", "trace_problem"]

_NAMED = re.compile(rb'"trial_id":("(?:[^"\\]|\\.)*")')
_CHAIN = ("trial_id", "seq", "sha256")


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded trial."""

    record: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    """As its record sealed them; empty where they are not there whole."""
    problem: str | None
    """What of the trial does not hold; None where all of it does."""

    @property
    def trial_id(self) -> str:
        return str(self.record.get("trial_id"))


def read_trace(directory: Path, trial_id: str) -> Trace:
    """One trial of a store, whole. StoreError if it is not recorded, or anything of it does not hold."""
    record = read_record(directory, trial_id)
    trace = read_traces(directory, {trial_id: record})[trial_id]
    if trace.problem is not None:
        raise StoreError(f"{directory}: trial {trial_id!r}: {trace.problem}")
    return trace


def read_traces(directory: Path, records: Mapping[str, Mapping[str, Any]]) -> dict[str, Trace]:
    """The traces of the given records (trial id -> record), whatever state they are in. One pass; never raises for
    what a store holds."""
    sealed = {trial_id: _last_link(record) for trial_id, record in records.items()}
    try:
        blocks = _blocks(directory, sealed)
    except OSError as error:
        return {i: Trace(r, (), f"{EVENTS}: {error.strerror or error}") for i, r in records.items()}
    traces = {}
    for trial_id, record in records.items():
        events = blocks.get(trial_id, ())
        traces[trial_id] = Trace(record, tuple(events), trace_problem(record, events))
    return traces


def trace_problem(record: Mapping[str, Any], events: Collection[Mapping[str, Any]]) -> str | None:
    """What does not hold between a record's seal, its recording and its events; None if all of it does."""
    try:
        return _problem(record, events)
    except RecursionError:
        return "it is nested too deeply"


def _problem(record: Mapping[str, Any], events: Collection[Mapping[str, Any]]) -> str | None:
    recording = record.get("recording")
    if not record_is_sealed(record):
        return f"{TRIALS}: its record is not what was sealed"
    if not isinstance(recording, Mapping) or recording.get("events") != len(events):
        return f"{EVENTS}: its events are not there whole"
    if not all(isinstance(event.get("kind"), str) for event in events):
        return f"{EVENTS}: an event of it has no kind"
    bare = [{key: value for key, value in event.items() if key not in _CHAIN} for event in events]
    if chain_events(str(record.get("trial_id")), bare) != list(events):
        return f"{EVENTS}: the chain of its events is broken"
    if trace_sha256(events) != record.get("trace_sha256"):
        return f"{EVENTS}: its steps are not those that its record sealed"
    return None


def _last_link(record: Mapping[str, Any]) -> object:
    recording = record.get("recording")
    return recording.get("sha256") if isinstance(recording, Mapping) else None


def _blocks(directory: Path, sealed: Mapping[str, object]) -> dict[str, list[dict[str, Any]]]:
    """Trial id -> its events up to the link that its record sealed: a trial that was interrupted has an earlier block
    that no record sealed."""
    open_blocks: dict[str, list[dict[str, Any]]] = {}
    whole: dict[str, list[dict[str, Any]]] = {}
    for event in _events(directory, {canonical(trial_id): trial_id for trial_id in sealed}):
        trial_id = event["trial_id"]
        if event["seq"] == 0:
            open_blocks[trial_id] = []
        block = open_blocks.setdefault(trial_id, [])
        block.append(event)
        if event.get("sha256") == sealed[trial_id]:
            whole[trial_id] = list(block)
    return whole


def _events(directory: Path, wanted: Mapping[bytes, str]) -> Iterator[dict[str, Any]]:
    """The events of the wanted trials. Lines of others are not parsed: a run may have millions."""
    trial_ids = frozenset(wanted.values())
    with open_regular(directory / EVENTS) as file:
        for raw in file:
            if not any(name in wanted for name in _NAMED.findall(raw)):
                continue
            try:
                event = parse_object(raw.removesuffix(b"\n"))
            except ValueError:
                continue  # then its trial's events are not whole
            if event.get("trial_id") in trial_ids and "seq" in event:
                yield event
