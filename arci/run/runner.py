"""All trials of a run: so many at once, in the order of the schedule, each recorded as it ends. Stops cleanly."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import anyio
from anyio import to_thread

from arci.errors import StoreError
from arci.isolation.base import Isolation, RunPlan, Slots
from arci.isolation.groups import task_group
from arci.model.manifest import Manifest
from arci.model.trial import Outcome, Trial
from arci.run.breaker import Breaker
from arci.run.logs import Kept
from arci.run.masking import masked_errors
from arci.run.outside import told_facts, with_egress
from arci.run.progress import Counts, Observer, Silent
from arci.run.result import TrialResult
from arci.run.setting import Setting, make_setting
from arci.run.trial import run_trial

__all__ = ["Writer", "run_trials"]


class Writer(Protocol):
    """What of the run store is needed here. Blocking; called from a worker thread, one call at a time."""

    def started(self, trial_id: str, attempt: int) -> None: ...

    def append(
        self, record: Mapping[str, Any], events: Sequence[Mapping[str, Any]], logs: Kept
    ) -> Mapping[str, Any]: ...

    def interrupt(self, trial_ids: Iterable[str]) -> None: ...

    def finish(self, state: str) -> None: ...


async def run_trials(
    manifest: Manifest,
    trials: Sequence[Trial],
    isolation: Isolation,
    run_id: str,
    writer: Writer,
    *,
    workers: int,
    observer: Observer | None = None,
    host_env: Mapping[str, str] | None = None,
    recorded: int = 0,
) -> Counts:
    """Makes and records `trials`, `workers` (>= 1) at once. `recorded`: trials of the run that were recorded before.

    Returns the final counts with the store `complete`. Whatever else ends it leaves the store `stopped` and resumable,
    trials in flight marked as interrupted: cancellation, StoreError, EngineError (the place cannot be opened),
    `breaker.RunBroken` (trial after trial broke without the agent's doing).
    """
    setting = make_setting(manifest, os.environ if host_env is None else host_env)
    counts = Counts(planned=recorded + len(trials), finished=recorded)
    run = _Run(setting, deque(trials), writer, observer or Silent(), counts)
    plan = RunPlan(run_id, manifest, workers)
    state = "stopped"
    run.observer.run_started(counts)
    try:
        with masked_errors(setting.masks):
            async with with_egress(setting) as run.setting, isolation.open(plan) as slots:
                await run.work(slots, workers)
                state = "complete"
    finally:
        with anyio.CancelScope(shield=True):
            await run.end(state)
            for told in told_facts(run.setting):
                run.observer.warn(told)
    return run.counts


class _Run:
    def __init__(
        self, setting: Setting, waiting: deque[Trial], writer: Writer, observer: Observer, counts: Counts
    ) -> None:
        self.setting = setting
        self.observer = observer
        self.counts = counts
        self._waiting = waiting
        self._writer = writer
        self._writing = anyio.Lock()
        self._breaker = Breaker()
        self._in_flight: dict[str, None] = {}

    async def work(self, slots: Slots, workers: int) -> None:
        async with task_group() as group:
            group.start_soon(self._tick)
            async with task_group() as making:
                for _ in range(workers):
                    making.start_soon(self._worker, slots)
            await self._record(self._breaker.release())
            group.cancel_scope.cancel()

    async def end(self, state: str) -> None:
        """Tell the store how it ended. A store that cannot be written has been reported by what failed first."""
        try:
            if self._in_flight:
                await self._write(self._writer.interrupt, tuple(self._in_flight))
            await self._write(self._writer.finish, state)
        except StoreError as error:
            if state == "complete":
                raise
            self.observer.warn(str(error))
        finally:
            self.observer.run_finished(self.counts, state)

    async def _worker(self, slots: Slots) -> None:
        while self._waiting:
            trial = self._waiting.popleft()
            self.counts = replace(self.counts, running=self.counts.running + 1)
            self.observer.trial_started(trial.trial_id, self.counts)
            try:
                result = await run_trial(slots, trial, self.setting, self._before_agent)
            finally:
                self.counts = replace(self.counts, running=self.counts.running - 1)
            with anyio.CancelScope(shield=True):  # what is known of a finished trial is not thrown away
                await self._take(result)

    async def _take(self, result: TrialResult) -> None:
        if result.left_behind is not None:
            self.observer.warn(f"{result.trial.trial_id}: left behind: {result.left_behind}")
        await self._record(self._breaker.take(result))
        if self._breaker.is_open:
            raise self._breaker.error()

    async def _record(self, results: Sequence[TrialResult]) -> None:
        for result in results:
            await self._write(self._writer.append, result.record, result.events, result.logs)
            self._in_flight.pop(result.trial.trial_id, None)
            is_error = result.record["outcome"] == Outcome.ERROR
            self.counts = replace(
                self.counts,
                finished=self.counts.finished + 1,
                here=self.counts.here + 1,
                errors=self.counts.errors + is_error,
            )
            self.observer.trial_finished(result.trial.trial_id, self.counts)

    async def _before_agent(self, trial_id: str, attempt: int) -> None:
        with anyio.CancelScope(shield=True):  # a line that is being written is in flight, whatever happens next
            await self._write(self._writer.started, trial_id, attempt)
            self._in_flight[trial_id] = None

    async def _write(self, call: Any, *args: Any) -> None:
        async with self._writing:
            await to_thread.run_sync(partial(call, *args))

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(1.0)
            self.observer.tick()
