"""The one writer of a run store. Synchronous and thread-safe: call it from a worker thread.

Order of an append: logs, events, record, `run.json`, each synced before the next, so that a record never names what is
not there, and a crash anywhere leaves a store that reads back.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from arci.errors import StoreError
from arci.model.canonical import canonical
from arci.model.record import CHAIN_START, RECORD_FORMAT, chain_events, seal_record, trace_sha256
from arci.store.events import started_line
from arci.store.files import AppendFile, Lock, naming, replace_file, sync_directory, write_file
from arci.store.layout import EVENTS, LOCK, LOGS, MANIFEST, RUN, TRIALS
from arci.store.lines import read_lines
from arci.store.logs import LogTail, describe_logs, write_logs
from arci.store.prior import refuse_existing, set_aside
from arci.store.shards import Shard, store_name
from arci.store.verify import first_info, seal_info

__all__ = ["RunWriter", "utc_now"]


def utc_now() -> str:
    """The time as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RunWriter:
    """Appends to one store, which it holds locked until `close`. Every failure to write is a StoreError naming the
    file; the store stays readable, and what was appended before stays."""

    def __init__(self, directory: Path, info: dict[str, Any], now: Callable[[], str]) -> None:
        """Use `create`."""
        self.directory = directory
        self._info = info
        self._now = now
        self._in_flight: dict[str, None] = {}
        self._is_behind = False  # run.json could not be replaced after an append
        self._mutex = threading.Lock()
        self._lock = Lock(directory / LOCK)
        self._events = AppendFile(directory / EVENTS)
        self._trials = AppendFile(directory / TRIALS)

    @classmethod
    def create(
        cls,
        out_dir: Path,
        manifest_document: Mapping[str, Any],
        run_id: str,
        *,
        force: bool = False,
        engine_facts: Mapping[str, Any] | None = None,
        warnings: Sequence[str] = (),
        shard: Shard | None = None,
        now: Callable[[], str] = utc_now,
    ) -> Self:
        """A new store at `<out_dir>/<experiment_id>`, or that of a shard beside it, with the sealed manifest in it.

        An existing one: UsageError with the choices; with `force` it is kept as `<experiment_id>.1` (.2, ...).
        """
        home = Path(out_dir) / store_name(manifest_document["experiment_id"], shard)
        if force:
            set_aside(home)
        refuse_existing(home)
        with naming(home):
            home.parent.mkdir(parents=True, exist_ok=True)
            home.mkdir()  # of two that start at once, one fails here
        try:
            with naming(home / MANIFEST):
                (home / LOGS).mkdir()
                write_file(home / MANIFEST, canonical(manifest_document) + b"\n")
            info = first_info(manifest_document, run_id, engine_facts or {}, warnings, now(), shard)
            writer = cls(home, info, now)
            try:
                writer._write_info()
                sync_directory(home.parent)
            except StoreError:
                writer.close()
                raise
        except StoreError:
            shutil.rmtree(home, ignore_errors=True)  # nothing was run: the id stays free
            raise
        return writer

    def started(self, trial_id: str, attempt: int) -> None:
        """Synced before the agent of that attempt (1-based) starts. `run.json` follows with the next record."""
        with self._mutex:
            self._events.append(_lines([started_line(trial_id, attempt)]))
            self._info["events"] += 1
            self._in_flight[trial_id] = None

    def append(
        self,
        record: Mapping[str, Any],
        events: Sequence[Mapping[str, Any]],
        logs: Mapping[str, Mapping[str, LogTail]],
    ) -> dict[str, Any]:
        """Seals one trial: returns the record as written.

        Set here, whatever `record` says: `format`, `manifest_sha256`, `recording`, `trace_sha256`, `previous_sha256`,
        `record_sha256`, and in `logs` the entries of the given logs (others, of logs that were lost, stay).
        """
        trial_id = record["trial_id"]
        with self._mutex:
            self._catch_up()
            chained = chain_events(trial_id, _as_read(events, self._events.path, trial_id))
            last = chained[-1]["sha256"] if chained else CHAIN_START
            body = {
                **record,
                "format": RECORD_FORMAT,
                "manifest_sha256": self._info["manifest_sha256"],
                "recording": {"events": len(chained), "sha256": last},
                "trace_sha256": trace_sha256(chained),
                "logs": _described(record.get("logs"), logs),
            }
            body = _as_read(body, self._trials.path, trial_id)
            sealed = seal_record(body, self._info["last_record_sha256"])
            write_logs(self.directory, trial_id, logs)
            self._events.append(_lines(chained))
            self._info["events"] += len(chained)
            self._trials.append(_lines([sealed]))
            self._info["records"] += 1
            self._info["last_record_sha256"] = sealed["record_sha256"]
            self._in_flight.pop(trial_id, None)
            self._write_info()
            return sealed

    def catch_up_with(self, records: int, last_record_sha256: str) -> None:
        """Take over a store that was written before: what its logs hold, which may be ahead of `run.json`."""
        with self._mutex:
            events = sum(1 for _ in read_lines(self.directory / EVENTS))
            self._info.update(
                records=records,
                last_record_sha256=last_record_sha256,
                events=events,
                state="running",
                ended_at=None,
            )
            self._write_info()

    def interrupt(self, trial_ids: Iterable[str]) -> None:
        """These were started and are given up without a record: they are made again by a later run."""
        with self._mutex:
            for trial_id in trial_ids:
                self._info["interrupted"].append(trial_id)
                self._in_flight.pop(trial_id, None)
            self._write_info()

    def finish(self, state: str) -> None:
        """`complete` (all planned trials are recorded) or `stopped`. The writer stays open for the decision."""
        if state not in ("complete", "stopped"):
            raise ValueError(f"state: {state!r}; 'complete' or 'stopped' is allowed")
        with self._mutex:
            self._info.update(state=state, ended_at=self._now())
            self._write_info()

    def close(self) -> None:
        """Lets another writer in. What was written is on disk already."""
        self._events.close()
        self._trials.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _catch_up(self) -> None:
        """`run.json` may lag one record behind, as after a crash, but never two."""
        if self._is_behind:
            self._write_info()

    def _write_info(self) -> None:
        self._info["in_flight"] = list(self._in_flight)
        self._is_behind = True
        replace_file(self.directory / RUN, canonical(seal_info(self._info)) + b"\n")
        self._is_behind = False


def _described(stated: Mapping[str, Any] | None, logs: Mapping[str, Mapping[str, LogTail]]) -> dict[str, Any]:
    entries = {role: dict(streams) for role, streams in (stated or {}).items()}
    for role, streams in describe_logs(logs).items():
        entries.setdefault(role, {}).update(streams)
    return entries


def _lines(values: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(canonical(value) + b"\n" for value in values)


def _as_read(value: Any, path: Path, trial_id: str) -> Any:
    """`value` as a reader will see it. Digests are made over that: two halves of a surrogate pair that met in one text
    come back as one character, a number as a key comes back as text."""
    try:
        return json.loads(canonical(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{path}: trial {trial_id} cannot be written as JSON: {error}") from error
