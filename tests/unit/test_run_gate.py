"""The gate: how many pods are started or ended at once, and that trials which wait do not keep others from starting."""

from __future__ import annotations

from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest
from trials import ANSWERED, Starts, make_manifest, outcome, setting_of

from arci.isolation.base import RunPlan
from arci.isolation.fake import FakeIsolation, GuestPipes, ScriptedTrial
from arci.manifest.schedule import schedule
from arci.run.gate import Gate
from arci.run.trial import run_trial

pytestmark = pytest.mark.anyio


async def test_turns_are_had_one_after_the_other_and_may_be_given_back_early() -> None:
    gate, order = Gate(1), []

    async def waits(name: str) -> None:
        async with gate.turn() as turn:
            order.append(name)
            await anyio.lowlevel.checkpoint()
            order.append(f"{name} over")
            turn.give_back()
            turn.give_back()  # what is given back already is not given back twice
            await turn.take()
            await turn.take()

    async with anyio.create_task_group() as group:
        for name in "abc":
            group.start_soon(waits, name)
    assert order == ["a", "a over", "b", "b over", "c", "c over"]
    async with gate.turn():
        with anyio.move_on_after(0) as scope:
            async with gate.turn():
                pytest.fail("two turns of one")
        assert scope.cancelled_caught


async def test_trials_that_wait_for_each_other_all_start_however_few_may_start_at_once() -> None:
    """Each agent ends when all of them run: with a turn that is kept while an agent works, none ever would."""
    manifest = make_manifest()
    trials = schedule(manifest)[:6]
    running, everyone = [], anyio.Event()

    async def agent(pipes: GuestPipes) -> int:
        running.append(pipes.plan.trial_id)
        if len(running) == len(trials):
            everyone.set()
        await everyone.wait()
        return 0

    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED], agent=agent))
    setting, outcomes = replace(setting_of(manifest), gate=Gate(1)), []
    async with isolation.open(RunPlan("run", manifest, len(trials))) as slots:

        async def make(number: int) -> None:
            outcomes.append(outcome(await run_trial(slots, trials[number], setting, Starts())))

        async with anyio.create_task_group() as group:
            for number in range(len(trials)):
                group.start_soon(make, number)
    assert outcomes == ["PASS completed None"] * len(trials)
