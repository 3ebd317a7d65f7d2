"""Whether the files of a store agree with each other: counts, last digest, recordings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arci.model.canonical import canonical, digest, digest_bytes
from arci.model.record import CHAIN_START
from arci.store.events import Block, EventLog
from arci.store.layout import EVENTS, MANIFEST, RUN, RUN_FORMAT, STATES, TRIALS
from arci.store.run import StoreProblem
from arci.store.shards import Shard, shard_of

__all__ = [
    "check_counts",
    "check_info",
    "check_manifest_file",
    "check_recordings",
    "first_info",
    "in_flight",
    "seal_info",
]

_SHAPE: dict[str, type] = {
    "run_id": str,
    "experiment_id": str,
    "manifest_sha256": str,
    "records": int,
    "last_record_sha256": str,
    "events": int,
    "in_flight": list,
    "interrupted": list,
    "engine": dict,
    "warnings": list,
    "started_at": str,
}


def first_info(
    manifest: Mapping[str, Any],
    run_id: str,
    engine: Mapping[str, Any],
    warnings: Sequence[str],
    started_at: str,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """`run.json` of a run that is about to begin, without its seal."""
    info = {
        "format": RUN_FORMAT,
        "run_id": run_id,
        "experiment_id": manifest["experiment_id"],
        "manifest_sha256": manifest["record_sha256"],
        "manifest_file_sha256": digest_bytes(canonical(manifest) + b"\n"),
        "records": 0,
        "last_record_sha256": CHAIN_START,
        "events": 0,
        "in_flight": [],
        "interrupted": [],
        "state": "running",
        "engine": dict(engine),
        "warnings": list(warnings),
        "started_at": started_at,
        "ended_at": None,
    }
    return info if shard is None else {**info, "shard": shard.to_document()}


def seal_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """`run.json` with `sha256`, the digest of the rest."""
    body = {k: v for k, v in info.items() if k != "sha256"}
    return {**body, "sha256": digest(body)}


def check_info(info: Mapping[str, Any]) -> str | None:
    """What is wrong with `run.json` by itself, if anything is."""
    if info.get("format") != RUN_FORMAT:
        return f"format: {info.get('format')!r}; {RUN_FORMAT!r} is what this version reads"
    if seal_info(info) != info:
        return "its content is not what its sha256 sealed"
    if any(type(info.get(key)) is not kind for key, kind in _SHAPE.items()) or info.get("state") not in STATES:
        return "keys are missing or of another type"
    texts = [*info["in_flight"], *info["interrupted"], *info["warnings"]]
    if not all(isinstance(t, str) for t in texts):
        return "a list holds something else than text"
    try:
        shard_of(info)
    except ValueError as error:
        return str(error)
    return None


def check_manifest_file(info: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[StoreProblem]:
    """Whether `manifest.json` is the file that the run began with, what its own seal leaves out included.

    A `run.json` of an older version does not say which it was.
    """
    stated = info.get("manifest_file_sha256")
    if stated is None or stated == digest_bytes(canonical(manifest) + b"\n"):
        return []
    return [StoreProblem(MANIFEST, f"not the file that {RUN} names")]


def check_counts(
    info: Mapping[str, Any], records: Sequence[Mapping[str, Any]], event_lines: int
) -> tuple[list[StoreProblem], list[str]]:
    """`run.json` against the two logs: problems and notes. It is replaced after each append, so while a run was under
    way the logs may be ahead of it by what was appended last; a finished run has no such excuse."""
    problems, notes = [], []
    counted, running = info["records"], info["state"] == "running"
    ahead = len(records) - counted
    if ahead == 1 and running:
        notes.append(f"{TRIALS}: one record more than {RUN} counts: the run was stopped between the two writes")
    elif ahead:
        problems.append(StoreProblem(RUN, f"it counts {counted} records, {TRIALS} has {len(records)} readable ones"))
    last = records[counted - 1].get("record_sha256") if 0 < counted <= len(records) else CHAIN_START
    if not ahead < 0 and last != info["last_record_sha256"]:
        problems.append(StoreProblem(RUN, f"record {counted} of {TRIALS} is not the one whose digest it holds"))
    if event_lines < info["events"] or (event_lines > info["events"] and not running):
        problems.append(StoreProblem(RUN, f"it counts {info['events']} lines, {EVENTS} has {event_lines}"))
    return problems, notes


def check_recordings(
    records: Sequence[Mapping[str, Any]], log: EventLog, interrupted: Sequence[str]
) -> list[StoreProblem]:
    """Each record against the events it sealed, and each block of events against a record that sealed it."""
    blocks: dict[tuple[str, str], Block] = {(b.trial_id, b.sha256): b for b in log.blocks}
    problems = []
    for record in records:
        trial_id, recording = record.get("trial_id"), record.get("recording")
        if not isinstance(trial_id, str) or not isinstance(recording, dict):
            continue  # no record of ours: the gate says so
        sha256, count = recording.get("sha256"), recording.get("events")
        block = blocks.pop((trial_id, sha256), None) if isinstance(sha256, str) else None
        if block is None and (sha256, count) != (CHAIN_START, 0):
            problems.append(StoreProblem(EVENTS, "the events that its record sealed are not there whole", trial_id))
        elif block and (block.events, block.trace_sha256) != (count, record.get("trace_sha256")):
            problems.append(StoreProblem(EVENTS, "its events give another count or trace than its record", trial_id))
    # Events are written before their record: a crash between the two leaves a block of a trial that is made again.
    excused = set(interrupted)
    strays = [b.trial_id for b in blocks.values() if b.trial_id not in excused]
    return problems + [StoreProblem(EVENTS, "events that no record sealed", t) for t in strays]


def in_flight(records: Sequence[Mapping[str, Any]], log: EventLog, interrupted: Sequence[str]) -> tuple[str, ...]:
    """Trial ids begun (a start, or events) and neither recorded nor listed as interrupted, in order."""
    done = {record["trial_id"] for record in records if isinstance(record.get("trial_id"), str)}
    begun = dict.fromkeys([*log.started, *(block.trial_id for block in log.blocks)])
    return tuple(t for t in begun if t not in done and t not in set(interrupted))
