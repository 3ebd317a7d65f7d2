"""The shards of one sealed manifest -> one store that reads and gates as an undivided run's.

Records in the order of the schedule, sealed anew into one chain; events, starts and logs as the shards hold them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arci.errors import StoreError
from arci.manifest.schedule import schedule
from arci.model.canonical import canonical
from arci.model.record import CHAIN_START, seal_record
from arci.store.files import Lock, append_copy, naming, replace_file, sync_directory, write_file
from arci.store.layout import EVENTS, LOCK, LOGS, MANIFEST, RUN, TRIALS, log_name
from arci.store.parts import Part, complete_parts
from arci.store.prior import refuse_existing
from arci.store.shards import store_name
from arci.store.verify import first_info, seal_info

__all__ = ["merge_runs"]


def merge_runs(runs: Sequence[Path], out_dir: Path, *, run_id: str) -> Path:
    """The directory `<out_dir>/<experiment_id>` of the new store: there whole, or not at all.

    UsageError where the shards do not belong together, one is missing or doubled, or the directory is taken; StoreError
    where one is broken or the new one cannot be written. Each names the store.
    """
    parts = complete_parts(runs)
    home = out_dir / store_name(parts[0].manifest.experiment_id)
    refuse_existing(home)
    fresh = home.with_name(f"{home.name}.merging")
    with naming(fresh):
        fresh.mkdir(parents=True, exist_ok=True)
    lock = Lock(fresh / LOCK)
    try:
        _write(fresh, parts, run_id)
        with naming(home):
            fresh.rename(home)
    except StoreError:
        shutil.rmtree(fresh, ignore_errors=True)  # the shards are there still
        raise
    finally:
        lock.close()
    sync_directory(out_dir)
    return home


def _write(fresh: Path, parts: Sequence[Part], run_id: str) -> None:
    records = _chained(parts)
    with naming(fresh):
        (fresh / LOGS).mkdir(exist_ok=True)
        write_file(fresh / MANIFEST, canonical(parts[0].document) + b"\n")
        write_file(fresh / TRIALS, b"".join(canonical(record) + b"\n" for record in records))
    for part in parts:
        _copy_logs(part, fresh)
    lines = append_copy([part.directory / EVENTS for part in parts], fresh / EVENTS)
    info = _info(parts, run_id, records)
    replace_file(fresh / RUN, canonical(seal_info({**info, "events": lines})) + b"\n")


def _chained(parts: Sequence[Part]) -> list[dict[str, Any]]:
    of_trial = {record["trial_id"]: record for part in parts for record in part.stored.records}
    previous, chained = CHAIN_START, []
    for trial in schedule(parts[0].manifest):
        chained.append(seal_record(of_trial[trial.trial_id], previous))
        previous = chained[-1]["record_sha256"]
    return chained


def _copy_logs(part: Part, fresh: Path) -> None:
    for record in part.stored.records:
        for role, streams in record["logs"].items():
            for stream, facts in streams.items():
                if facts["bytes"] and facts["kept_sha256"] is not None:
                    name = log_name(record["trial_id"], role, stream)
                    with naming(part.directory / LOGS / name):
                        write_file(fresh / LOGS / name, (part.directory / LOGS / name).read_bytes())


def _info(parts: Sequence[Part], run_id: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    infos = [part.info for part in parts]
    engines = [info["engine"] for info in infos]
    engine = engines[0] if all(one == engines[0] for one in engines) else {}
    warnings = dict.fromkeys(text for info in infos for text in info["warnings"])
    first = first_info(parts[0].document, run_id, engine, list(warnings), min(info["started_at"] for info in infos))
    return {
        **first,
        "records": len(records),
        "last_record_sha256": records[-1]["record_sha256"] if records else CHAIN_START,
        "interrupted": [trial_id for info in infos for trial_id in info["interrupted"]],
        "state": "complete",
        "ended_at": max((str(info["ended_at"]) for info in infos), default=None),
        "shards": [_source(part) for part in parts],
    }


def _source(part: Part) -> dict[str, Any]:
    names = ("run_id", "records", "last_record_sha256", "interrupted", "engine", "started_at", "ended_at", "sha256")
    return {"shard": part.shard.to_document(), **{name: part.info[name] for name in names}}
