"""One trial: the choreography of an attempt as a list of small steps, and the attempts of a trial.

The same for every back end. What a guest or an engine does raises nothing here: it becomes a fact of the attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from arci.errors import EngineError, StoreError
from arci.isolation.base import Pod, Slots, TrialPlan
from arci.isolation.groups import task_group
from arci.model.trial import Blame, Outcome, Role, Trial
from arci.run.agent_side import await_import, end_agent, start_agent, watch_agent
from arci.run.attempt import Attempt
from arci.run.boundary_side import await_ready, close_boundary, open_boundary, seal
from arci.run.channel import Channel
from arci.run.classify import classify, needs_grade
from arci.run.collecting import take_evidence
from arci.run.environment_side import end_environment
from arci.run.gate import Turn
from arci.run.grading import grade_trial
from arci.run.result import TrialResult, build_result
from arci.run.setting import Setting
from arci.run.upstreams import miscount

__all__ = ["MOST_ATTEMPTS", "BeforeAgent", "run_attempt", "run_trial"]

MOST_ATTEMPTS = 3
"""An attempt that broke before the agent's process started is made again, at most twice."""
_DRAIN_S = 3.0
"""How long output of a guest that is gone is waited for: its stream may never close."""

BeforeAgent = Callable[[str, int], Awaitable[None]]
"""Called with the trial's id and the number of the attempt just before its agent starts."""


async def run_trial(slots: Slots, trial: Trial, setting: Setting, before_agent: BeforeAgent) -> TrialResult:
    """The trial's result, from the first attempt that got as far as its agent, or the last one."""
    earlier: list[dict[str, Any]] = []
    started_at = setting.now()
    while True:
        attempt = Attempt(trial, setting.manifest, len(earlier) + 1, setting.witness, setting.replay)
        await _attempt_in_pod(slots, attempt, setting, before_agent)
        if not attempt.is_complete:
            # A clean-up that failed must not hide that the run is being stopped.
            await anyio.lowlevel.checkpoint_if_cancelled()
        judgement = classify(attempt.facts())
        is_last = len(earlier) + 1 == MOST_ATTEMPTS
        if judgement.outcome is not Outcome.ERROR or not attempt.may_be_made_again or is_last:
            return build_result(attempt, judgement, earlier, setting, started_at)
        earlier.append({"attempt": attempt.number, "detail": judgement.detail})


async def _attempt_in_pod(slots: Slots, attempt: Attempt, setting: Setting, before_agent: BeforeAgent) -> None:
    """A fresh pod for the attempt. What the back end cannot remove afterwards harms no judgement: it is noted."""
    plan = TrialPlan(attempt.trial.trial_id, attempt.trial.arm, attempt.number)
    has_pod = False
    async with setting.gate.turn() as turn:
        begun = anyio.current_time()
        try:
            async with slots.pod(plan) as pod:
                has_pod = True
                attempt.phases["create"] = anyio.current_time() - begun
                await _guarded(pod, attempt, setting, before_agent, turn)
        except EngineError as error:
            if has_pod:
                attempt.left_behind = str(error)
            else:
                attempt.conversation.trouble(Blame.ENGINE, str(error))


async def _guarded(pod: Pod, attempt: Attempt, setting: Setting, before_agent: BeforeAgent, turn: Turn) -> None:
    """A mistake of ours spoils one trial, which says so; a store that cannot be written ends the run."""
    try:
        await run_attempt(pod, attempt, setting, before_agent, turn)
    except StoreError:
        raise
    except Exception as error:
        attempt.conversation.trouble(Blame.HARNESS, f"internal error: {type(error).__name__}: {error}")


async def run_attempt(pod: Pod, attempt: Attempt, setting: Setting, before_agent: BeforeAgent, turn: Turn) -> None:
    """Fills `attempt` with everything that happens in `pod`. What guests and engines do is data here.

    `turn` to start and end pods is taken; while the agent works it is given back.
    """
    async with task_group() as group:
        channel = await open_boundary(pod, attempt, group)
        if channel is not None:
            await await_ready(pod, attempt, channel, group)
            async with attempt.upstreams.open(channel, setting):
                await _agent_steps(pod, attempt, setting, group, before_agent, turn)
            await turn.take()
            await _grading_steps(pod, attempt, channel, group)
            await _drain(attempt)
        attempt.is_complete = True
        group.cancel_scope.cancel()


async def _agent_steps(
    pod: Pod, attempt: Attempt, setting: Setting, group: TaskGroup, before_agent: BeforeAgent, turn: Turn
) -> None:
    if attempt.has_trouble:
        return
    await before_agent(attempt.trial.trial_id, attempt.number)
    agent = await start_agent(pod, attempt, setting, group)
    if agent is not None:
        await await_import(attempt)
        turn.give_back()
        await watch_agent(attempt)
    await end_agent(pod, attempt, agent)


async def _grading_steps(pod: Pod, attempt: Attempt, channel: Channel, group: TaskGroup) -> None:
    """The boundary holds the files of agent and servers until they are read, then ends while the grader runs."""
    if not attempt.has_trouble:
        await seal(attempt, channel)
        _compare_counts(attempt)
    await end_environment(pod, attempt)
    if needs_grade(attempt.facts()):
        await take_evidence(pod, attempt)
    async with task_group() as ending:
        ending.start_soon(close_boundary, attempt, channel)
        if needs_grade(attempt.facts()):
            await grade_trial(pod, attempt, group)


def _compare_counts(attempt: Attempt) -> None:
    """Every call that went out stands in the recording, and no other; of a replay none goes out."""
    if attempt.replay is not None:
        return
    decisions = attempt.manifest.decisions
    has_fixture = decisions is not None and decisions.upstream == "fixture"
    difference = miscount(attempt.upstreams.asked, attempt.conversation.events, has_fixture=has_fixture)
    if difference is not None and not attempt.has_trouble:
        attempt.conversation.trouble(Blame.HARNESS, difference)


async def _drain(attempt: Attempt) -> None:
    log = attempt.log(Role.AGENT)
    await attempt.pulse.until(lambda: not log.is_open, _DRAIN_S)
