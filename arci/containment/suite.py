"""All claims on one engine: each group is a real run in a directory for a while, read back and judged. Effects."""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from arci.containment.groups import GROUPS, SECRET_NAME, Group
from arci.containment.judge import Row, Seen, judge, judge_honest
from arci.errors import ArciError
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.isolation import DockerIsolation
from arci.manifest.schedule import schedule
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.run.runner import run_trials
from arci.steps import SEAL_STEPS, Job, RunOptions, gate_run, through
from arci.store.reader import read_events
from arci.store.run import StoredRun
from arci.store.writer import RunWriter

__all__ = ["contain"]

Notice = Callable[[str], None]
_PROGRAMS = Path(__file__).parent / "programs"


async def contain(notice: Notice, *, workers: int, groups: Sequence[Group] = GROUPS) -> tuple[Row, ...]:
    """A row for each claim, and for each honest agent in an attacker's slot; in the order of the table.

    What breaks a group makes its rows not contained. SpecError, EngineError or EngineUnavailable where nothing could be
    started.
    """
    engine = await connect()
    try:
        rows: list[Row] = []
        for group in groups:
            notice(f"Containment, {group.name}: {len(group.claims)} hostile agents, each beside an honest one.")
            rows += await _contained(engine, notice, group, workers)
        return tuple(rows)
    finally:
        engine.close()


async def _contained(engine: Engine, notice: Notice, group: Group, workers: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="arci-containment-") as directory:
        made = await _made(engine, notice, group, Path(directory), workers)
        rows = await to_thread.run_sync(lambda: list(_rows(group, made)))
    for row in rows:
        if not row.contained:
            notice(f"{row.name}: {row.why[0]}")
    return rows


@dataclass(frozen=True, slots=True)
class _Made:
    """A group's run, over and in its store."""

    directory: Path
    manifest: Manifest
    left: tuple[str, ...]
    trouble: tuple[str, ...]
    secret: str


async def _made(engine: Engine, notice: Notice, group: Group, directory: Path, workers: int) -> _Made:
    """Seal and run the group's experiment. A run that breaks has left what it recorded."""
    job = await through(SEAL_STEPS, Job(RunOptions(_project(group, directory), workers=workers), notice=notice))
    assert job.document is not None
    isolation, manifest, run_id = DockerIsolation(engine), job.manifest, str(uuid.uuid4())
    secret, trouble = secrets.token_hex(12), []
    with RunWriter.create(directory / "runs", job.document, run_id) as writer:
        try:
            await run_trials(
                manifest,
                schedule(manifest),
                isolation,
                run_id,
                writer,
                workers=workers,
                host_env={**os.environ, SECRET_NAME: secret},
            )
        except ArciError as error:
            trouble.append(f"the run broke: {error}")
    remains = await isolation.remains(run_id)
    return _Made(writer.directory, manifest, remains.everything, tuple(trouble), secret)


def _project(group: Group, directory: Path) -> Path:
    """The group's descriptor, beside a copy of the programs."""
    for source in _PROGRAMS.iterdir():
        shutil.copytree(source, directory / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    path = directory / "arci.yaml"
    path.write_bytes(canonical(group.descriptor()))  # JSON is YAML
    return path


def _rows(group: Group, made: _Made) -> Iterator[Row]:
    decision, stored = gate_run(made.directory)
    by_task = {(str(record["task_id"]), record["arm"]): record for record in stored.records}
    trouble = (*made.trouble, *_unsound(stored))
    if decision.verdict == "PASS":
        trouble = (*trouble, "the verdict over hostile agents is PASS")
    is_kept = _stands_in(made.directory, made.secret)

    def seen(task: str, *, whole: bool) -> Seen:
        hostile, honest = by_task.get((task, "candidate")), by_task.get((task, "baseline"))
        events = read_events(made.directory, hostile["trial_id"]) if whole and hostile is not None else []
        deadline_s = made.manifest.budgets.max_seconds
        return Seen(hostile, honest, events, deadline_s, made.left, is_kept, trouble)

    for claim in group.claims:
        yield judge(claim, seen(claim.name, whole=bool(claim.events)))
    for name in group.honest_tasks:
        yield judge_honest(f"{group.name}-{name}", seen(name, whole=False))


def _unsound(stored: StoredRun) -> tuple[str, ...]:
    return tuple(f"the store does not hold: {problem}" for problem in stored.problems)


def _stands_in(directory: Path, secret: str) -> bool:
    """Plain, or base64 of the whole; a file that is gone meanwhile has nothing."""
    forms = [secret.encode(), base64.b64encode(secret.encode()).rstrip(b"=")]
    kept: Iterator[bytes] = (path.read_bytes() for path in directory.rglob("*") if path.is_file())
    return any(form in data for data in kept for form in forms)
