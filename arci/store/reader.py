"""Reads a run store back: whatever is in it, an exception only if it is no store at all. Never writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arci.errors import StoreError
from arci.store.events import EventLog, read_event_log
from arci.store.layout import EVENTS, LOGS, MANIFEST, RUN, RUN_FORMAT, TRIALS
from arci.store.lines import Line, read_lines, read_object
from arci.store.logs import LogTail, log_problem, read_kept
from arci.store.nearby import run_hint, trial_hint
from arci.store.run import StoredRun, StoreProblem
from arci.store.verify import check_counts, check_info, check_manifest_file, check_recordings, in_flight

__all__ = ["read_events", "read_log", "read_record", "read_run", "refuse_foreign"]


def read_run(directory: Path) -> StoredRun:
    """Everything the store holds, verified; what does not hold is in `problems`. StoreError if it is no store."""
    _refuse_other(directory)
    problems: list[StoreProblem] = []
    manifest = _object(directory, MANIFEST, problems)
    info = _info(directory, problems)
    records = _records(directory, problems)
    log = _event_log(directory)
    problems += log.problems
    listed = tuple(info["interrupted"]) if info is not None else ()
    flying = in_flight(records, log, listed)
    notes: list[str] = []
    if info is not None:
        of_counts, notes = check_counts(info, records, log.lines)
        problems += of_counts
        problems += check_manifest_file(info, manifest) if manifest is not None else []
    problems += check_recordings(records, log, (*listed, *flying))
    problems += _log_problems(directory, records)
    return StoredRun(manifest, records, info, tuple(problems), tuple(notes), flying)


def read_record(directory: Path, trial_id: str) -> dict[str, Any]:
    """The record of one trial. StoreError if there is none, or more than one."""
    _refuse_other(directory)
    all_of_it = _records(directory, [])
    found = [r for r in all_of_it if r.get("trial_id") == trial_id]
    if len(found) != 1:
        count = "no record" if not found else f"{len(found)} records"
        raise StoreError(f"{directory / TRIALS}: {count} of trial {trial_id!r}", hint=trial_hint(all_of_it, trial_id))
    return dict(found[0])


def read_events(directory: Path, trial_id: str) -> list[dict[str, Any]]:
    """The events of a recorded trial, in order, as its record sealed them. StoreError if they are not there."""
    recording = read_record(directory, trial_id).get("recording")
    wanted = recording.get("sha256") if isinstance(recording, dict) else None
    block: list[dict[str, Any]] = []
    try:
        for line in read_lines(directory / EVENTS):
            event = line.value or {}
            if event.get("trial_id") != trial_id or "seq" not in event:
                continue
            if event["seq"] == 0:  # a trial that was interrupted has an earlier block that no record sealed
                block = []
            block.append(event)
            if event.get("sha256") == wanted:
                return block
    except OSError as error:
        raise StoreError(f"{directory / EVENTS}: {error.strerror or error}") from error
    if isinstance(recording, dict) and recording.get("events") == 0:
        return []
    raise StoreError(f"{directory / EVENTS}: the events of trial {trial_id!r} are not there whole")


def read_log(directory: Path, trial_id: str, role: str, stream: str) -> LogTail:
    """What is kept of one stream of one guest. StoreError if the record knows none, or it is not what was sealed."""
    logs = read_record(directory, trial_id).get("logs")
    try:
        facts = logs[role][stream]  # type: ignore[index]  # any other shape is the TypeError below
    except (KeyError, TypeError):
        raise StoreError(f"{directory / TRIALS}: trial {trial_id!r} has no {stream!r} of {role!r}") from None
    try:
        return read_kept(directory, trial_id, role, stream, facts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = log_problem(directory, trial_id, role, stream, facts) or error
        raise StoreError(f"{directory / LOGS}: {stream} of {role} of trial {trial_id!r}: {reason}") from None


def refuse_foreign(directory: Path) -> None:
    """StoreError for a store that another version of ARCI wrote, so that nothing in it can be taken at its word."""
    _refuse_other(directory)
    info = _object(directory, RUN, [])
    if info is not None and info.get("format") != RUN_FORMAT:
        raise StoreError(f"{directory / RUN}: {check_info(info)}", hint="install the version that wrote it")


def _refuse_other(directory: Path) -> None:
    if not directory.is_dir():
        raise StoreError(f"{directory}: no such directory", hint=run_hint(directory))
    if not any((directory / name).exists() for name in (MANIFEST, TRIALS, RUN)):
        raise StoreError(
            f"{directory}: not a run store: it has neither {MANIFEST} nor {TRIALS} nor {RUN}",
            hint=run_hint(directory / RUN),
        )


def _object(directory: Path, name: str, problems: list[StoreProblem]) -> dict[str, Any] | None:
    try:
        return read_object(directory / name)
    except (OSError, ValueError) as error:
        problems.append(StoreProblem(name, _reason(error)))
        return None


def _info(directory: Path, problems: list[StoreProblem]) -> dict[str, Any] | None:
    info = _object(directory, RUN, problems)
    if info is None:
        return None
    wrong = check_info(info)
    if wrong is not None:
        problems.append(StoreProblem(RUN, wrong))
    return info if wrong is None else None


def _records(directory: Path, problems: list[StoreProblem]) -> tuple[dict[str, Any], ...]:
    records = []
    for line in _lines(directory, TRIALS, problems):
        if line.value is None:
            problems.append(StoreProblem(f"{TRIALS}:{line.number}", line.problem, is_torn=line.is_torn))
        else:
            records.append(line.value)
    return tuple(records)


def _event_log(directory: Path) -> EventLog:
    problems: list[StoreProblem] = []
    log = read_event_log(_lines(directory, EVENTS, problems))
    log.problems += problems
    return log


def _lines(directory: Path, name: str, problems: list[StoreProblem]) -> Iterable[Line]:
    try:
        yield from read_lines(directory / name)
    except OSError as error:
        problems.append(StoreProblem(name, _reason(error)))


def _log_problems(directory: Path, records: Iterable[Mapping[str, Any]]) -> list[StoreProblem]:
    problems = []
    for record in records:
        trial_id, logs = record.get("trial_id"), record.get("logs")
        if not isinstance(trial_id, str) or not isinstance(logs, dict):
            continue  # no record of ours: the gate says so
        for role, streams in logs.items():
            for stream, facts in streams.items() if isinstance(streams, dict) else ():
                wrong = log_problem(directory, trial_id, role, stream, facts)
                if wrong is not None:
                    problems.append(StoreProblem(LOGS, f"{stream} of {role}: {wrong}", trial_id))
    return problems


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"unreadable: {error}"
