"""Opens a run that was stopped, or that died, for the trials that it still misses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.errors import StoreError, UsageError
from arci.model.record import CHAIN_START
from arci.store.reader import read_run
from arci.store.run import StoredRun
from arci.store.shards import Shard, shard_of
from arci.store.writer import RunWriter, utc_now

__all__ = ["Resumed", "resume_run"]


@dataclass(frozen=True, slots=True)
class Resumed:
    writer: RunWriter
    recorded: frozenset[str]
    """Trial ids that have a record, and are not made again."""


def resume_run(directory: Path, manifest_document: Mapping[str, Any], shard: Shard | None = None) -> Resumed:
    """The store at `directory`, locked and mended where a crash tore its last line; trials that were in flight are
    listed as interrupted.

    UsageError if it is the run of another manifest, or another part of it; StoreError if anything in it does not hold.
    """
    before = _sound(directory)
    seal, wanted = (before.manifest or {}).get("record_sha256"), manifest_document["record_sha256"]
    if seal != wanted:
        raise UsageError(
            f"{directory}: was begun with manifest {str(seal)[:12]}, and this one is {wanted[:12]}: something that is "
            "sealed has changed since (descriptor, images, sources or arci itself).",
            hint="undo the change, or give the experiment another id",
        )
    _refuse_other_part(directory, before, shard)
    assert before.info is not None
    writer = RunWriter(directory, dict(before.info), utc_now)
    try:
        after = _sound(directory)  # nobody else writes from here on
        writer.catch_up_with(len(after.records), _last_sha256(after))
        writer.interrupt(after.in_flight)
    except BaseException:
        writer.close()
        raise
    return Resumed(writer, frozenset(record["trial_id"] for record in after.records))


def _refuse_other_part(directory: Path, stored: StoredRun, wanted: Shard | None) -> None:
    if stored.info is not None and "shards" in stored.info:
        raise UsageError(f"{directory}: was merged from shards and is complete; there is nothing to resume.")
    found = shard_of(stored.info)
    if found != wanted:
        raise UsageError(f"{directory}: is {_part(found)}, and {_part(wanted)} was asked for.")


def _part(shard: Shard | None) -> str:
    return "a whole run" if shard is None else f"shard {shard}"


def _sound(directory: Path) -> StoredRun:
    stored = read_run(directory)
    broken = [problem for problem in stored.problems if not problem.is_torn]
    if broken or stored.info is None:
        raise StoreError(f"{directory}: cannot be resumed: {broken[0] if broken else 'run.json cannot be read'}")
    return stored


def _last_sha256(stored: StoredRun) -> str:
    return str(stored.records[-1]["record_sha256"]) if stored.records else CHAIN_START
