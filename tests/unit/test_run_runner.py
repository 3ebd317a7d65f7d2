"""All trials of a run on the fake back end and a real store: order, concurrency, stopping, an engine that dies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest
from runs import condition, manifest_document
from trials import ANSWERED, BUDGETS, answer

from arci.errors import ArciError, EngineError, StoreError
from arci.isolation.base import TrialPlan
from arci.isolation.fake import FakeFaults, FakeIsolation, ScriptedTrial
from arci.isolation.remains import Remains
from arci.isolation.script import Sleep
from arci.manifest.schedule import schedule
from arci.model.manifest import Manifest
from arci.model.trial import Role
from arci.run.breaker import RunBroken
from arci.run.observe import Counts, Silent
from arci.run.runner import run_trials
from arci.store.reader import read_run
from arci.store.writer import RunWriter

pytestmark = pytest.mark.anyio

GOOD = ScriptedTrial(events=[ANSWERED])
ENDLESS = ScriptedTrial(agent=(Sleep(3600),), statuses=[{"status": "started"}, {"status": "worker_ready"}])


def document(n: int = 3, **changes: Any) -> dict[str, Any]:
    values = {"conditions": [condition("clean", "clean")], "budgets": BUDGETS, "n_per_arm": n, **changes}
    return manifest_document(**values)


class Watcher(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.warnings: list[str] = []
        self.most_running = 0
        self.end: tuple[Counts, str] | None = None
        self.on_start: Callable[[str], None] = lambda trial_id: None

    def trial_started(self, trial_id: str, counts: Counts) -> None:
        self.most_running = max(self.most_running, counts.running)
        self.on_start(trial_id)

    def trial_finished(self, trial_id: str, counts: Counts) -> None:
        self.finished.append(trial_id)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def run_finished(self, counts: Counts, state: str) -> None:
        self.end = (counts, state)


async def run(
    tmp_path: Path,
    isolation: FakeIsolation,
    sealed: Mapping[str, Any] | None = None,
    *,
    workers: int = 1,
    watcher: Watcher | None = None,
    wrap: Callable[[RunWriter], Any] = lambda writer: writer,
) -> Path:
    sealed = sealed or document()
    manifest = Manifest.from_document(sealed)
    with RunWriter.create(tmp_path, sealed, "run") as writer:
        await run_trials(
            manifest,
            schedule(manifest),
            isolation,
            "run",
            wrap(writer),
            workers=workers,
            observer=watcher,
            host_env={},
        )
    return writer.directory


def store_of(tmp_path: Path) -> Any:
    stored = read_run(tmp_path / "synthetic")
    assert stored.problems == ()
    assert stored.info is not None
    return stored


async def test_every_trial_is_recorded_in_the_order_of_the_schedule(tmp_path: Path) -> None:
    watcher, sealed = Watcher(), document()
    await run(tmp_path, FakeIsolation(GOOD), sealed, watcher=watcher)
    planned = [trial.trial_id for trial in schedule(Manifest.from_document(sealed))]
    stored = store_of(tmp_path)
    assert watcher.finished == planned == [record["trial_id"] for record in stored.records]
    assert {record["outcome"] for record in stored.records} == {"PASS"}
    assert (stored.info["state"], stored.info["in_flight"]) == ("complete", [])
    assert watcher.end == (Counts(planned=6, finished=6, here=6), "complete")


async def test_so_many_trials_are_under_way_at_once_and_no_more(tmp_path: Path) -> None:
    watcher = Watcher()
    await run(tmp_path, FakeIsolation(GOOD), document(5), workers=3, watcher=watcher)
    assert watcher.most_running == 3
    assert len(store_of(tmp_path).records) == 10


async def test_a_started_line_is_written_before_each_agent_and_no_two_writes_overlap(tmp_path: Path) -> None:
    calls: list[str] = []
    busy = threading.Lock()

    class Watched:
        def __init__(self, writer: RunWriter) -> None:
            self._writer = writer

        def __getattr__(self, name: str) -> Any:
            def call(*args: Any) -> Any:
                assert busy.acquire(blocking=False)
                try:
                    calls.append(name)
                    return getattr(self._writer, name)(*args)
                finally:
                    busy.release()

            return call

    isolation = FakeIsolation(GOOD)
    await run(tmp_path, isolation, workers=3, wrap=Watched)
    assert calls.count("started") == calls.count("append") == 6
    assert calls[-1] == "finish"


async def test_a_stopped_run_names_its_trials_in_flight_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    """The first two trials end, the others never do."""
    watcher = Watcher()

    def script(plan: TrialPlan, role: Role) -> Any:
        return (GOOD if len(started) <= 2 else ENDLESS)(plan, role)

    started: list[str] = []
    watcher.on_start = started.append
    isolation = FakeIsolation(script)
    stuck = anyio.Event()

    class Watched:
        """Tells when the fourth agent is about to start."""

        def __init__(self, writer: RunWriter) -> None:
            self._writer = writer

        def started(self, trial_id: str, attempt: int) -> None:
            self._writer.started(trial_id, attempt)
            if trial_id in started[3:4]:
                anyio.from_thread.run_sync(stuck.set)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._writer, name)

    async with anyio.create_task_group() as group:

        async def stop() -> None:
            await stuck.wait()
            group.cancel_scope.cancel()

        group.start_soon(stop)
        await run(tmp_path, isolation, workers=2, watcher=watcher, wrap=Watched)
    stored = store_of(tmp_path)
    assert stored.info["state"] == "stopped"
    assert sorted(stored.info["interrupted"]) == sorted(started[2:4])
    assert [record["trial_id"] for record in stored.records] == watcher.finished == started[:2]
    assert watcher.end is not None
    assert watcher.end[1] == "stopped"
    assert await isolation.remains("run") == Remains()


async def test_a_dead_engine_stops_the_run_and_costs_no_trial_whose_agent_never_ran(tmp_path: Path) -> None:
    planned = [trial.trial_id for trial in schedule(Manifest.from_document(document(20)))]

    def faults(plan: TrialPlan, role: Role) -> FakeFaults:
        dead = plan.trial_id not in planned[:4] and role is Role.BOUNDARY
        return FakeFaults(start=EngineError("create", "connection refused")) if dead else FakeFaults()

    watcher = Watcher()
    with pytest.raises(RunBroken, match="connection refused") as caught:
        await run(tmp_path, FakeIsolation(GOOD, faults=faults), document(20), watcher=watcher)
    assert "--resume" in str(caught.value)
    stored = store_of(tmp_path)
    assert [record["trial_id"] for record in stored.records] == planned[:4]
    assert (stored.info["state"], stored.info["interrupted"]) == ("stopped", [])


async def test_an_engine_that_dies_under_running_agents_gives_errors_and_then_stops(tmp_path: Path) -> None:
    def faults(plan: TrialPlan, role: Role) -> FakeFaults:
        return FakeFaults(wait=EngineError("wait", "gone")) if role is Role.AGENT else FakeFaults()

    with pytest.raises(RunBroken, match="wait: gone"):
        await run(tmp_path, FakeIsolation(GOOD, faults=faults), document(20))
    stored = store_of(tmp_path)
    assert [(record["outcome"], record["blame"]) for record in stored.records] == [("ERROR", "engine")] * 3
    assert stored.info["state"] == "stopped"


async def test_single_errors_are_recorded_and_stop_nothing(tmp_path: Path) -> None:
    planned = [trial.trial_id for trial in schedule(Manifest.from_document(document(5)))]

    def faults(plan: TrialPlan, role: Role) -> FakeFaults:
        breaks = plan.trial_id in (*planned[1:3], planned[-1]) and role is Role.BOUNDARY
        return FakeFaults(start=EngineError("create", "busy")) if breaks else FakeFaults()

    watcher = Watcher()
    await run(tmp_path, FakeIsolation(GOOD, faults=faults), document(5), watcher=watcher)
    stored = store_of(tmp_path)
    assert sorted(record["trial_id"] for record in stored.records) == sorted(planned)
    assert [record["trial_id"] for record in stored.records if record["outcome"] == "ERROR"] == [
        *planned[1:3],
        planned[-1],
    ]
    assert watcher.end == (Counts(planned=10, finished=10, here=10, errors=3), "complete")


async def test_agents_that_always_fail_are_data_and_stop_nothing(tmp_path: Path) -> None:
    crash = ScriptedTrial(events=[answer(None, {"kind": "ValueError", "message": "no"})])
    await run(tmp_path, FakeIsolation(crash))
    assert {record["outcome"] for record in store_of(tmp_path).records} == {"FAIL"}


async def test_a_full_disk_stops_the_run_with_the_stores_error(tmp_path: Path) -> None:
    class Full:
        """Takes two records, then none."""

        def __init__(self, writer: RunWriter) -> None:
            self._writer = writer
            self._records = 0

        def append(self, *args: Any) -> Any:
            self._records += 1
            if self._records > 2:
                raise StoreError("trials.jsonl: No space left on device")
            return self._writer.append(*args)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._writer, name)

    with pytest.raises(StoreError, match="No space left"):
        await run(tmp_path, FakeIsolation(GOOD), wrap=Full)
    stored = store_of(tmp_path)
    assert len(stored.records) == 2
    assert stored.info["state"] == "stopped"
    assert len(stored.info["interrupted"]) == 1


async def test_a_place_that_cannot_be_opened_leaves_a_store_that_can_be_resumed(tmp_path: Path) -> None:
    class Closed(FakeIsolation):
        def open(self, run: Any) -> Any:
            raise EngineError("open", "no room for holders")

    with pytest.raises(ArciError, match="no room"):
        await run(tmp_path, Closed(GOOD))
    assert store_of(tmp_path).info["state"] == "stopped"


async def test_trials_that_went_alike_have_one_trace_and_records_of_their_own(tmp_path: Path) -> None:
    await run(tmp_path, FakeIsolation(GOOD), document(2))
    stored = store_of(tmp_path)
    assert len({record["trace_sha256"] for record in stored.records}) == 1
    assert len({record["record_sha256"] for record in stored.records}) == 4
