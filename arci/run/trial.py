"""One trial: the choreography of an attempt as a list of small steps, and the attempts of a trial.

The same for every back end. Nothing here raises for what a guest or an engine does: it becomes a fact of the attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
from anyio.abc import TaskGroup

from arci.errors import EngineError
from arci.isolation.base import Pod, Slots, TrialPlan
from arci.isolation.groups import task_group
from arci.model.trial import Blame, Outcome, Role, Trial
from arci.run.agent_side import end_agent, start_agent, watch_agent
from arci.run.attempt import Attempt
from arci.run.boundary_side import await_ready, close_boundary, open_boundary, seal
from arci.run.channel import Channel
from arci.run.classify import classify, needs_grade
from arci.run.collecting import take_evidence
from arci.run.grading import grade_trial
from arci.run.result import TrialResult, build_result
from arci.run.setting import Setting

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
        attempt = Attempt(trial, setting.manifest, len(earlier) + 1)
        await _attempt_in_pod(slots, attempt, setting, before_agent)
        judgement = classify(attempt.facts())
        is_last = len(earlier) + 1 == MOST_ATTEMPTS
        if judgement.outcome is not Outcome.ERROR or not attempt.may_be_made_again or is_last:
            return build_result(attempt, judgement, earlier, setting, started_at)
        earlier.append({"attempt": attempt.number, "detail": judgement.detail})


async def _attempt_in_pod(slots: Slots, attempt: Attempt, setting: Setting, before_agent: BeforeAgent) -> None:
    """A fresh pod for the attempt. What the back end fails to clean up harms no judgement: it says so itself."""
    plan = TrialPlan(attempt.trial.trial_id, attempt.trial.arm, attempt.number)
    async with AsyncExitStack() as stack:
        pod: Pod | None = None
        with attempt.measure("create"):
            pod = await stack.enter_async_context(slots.pod(plan))
        if pod is not None:
            await run_attempt(pod, attempt, setting, before_agent)


async def run_attempt(pod: Pod, attempt: Attempt, setting: Setting, before_agent: BeforeAgent) -> None:
    """Fills `attempt` with everything that happens in `pod`; raises nothing but cancellation and `before_agent`'s."""
    async with task_group() as group:
        channel = await open_boundary(pod, attempt, group)
        if channel is not None:
            await await_ready(pod, attempt, channel)
            await _agent_steps(pod, attempt, setting, group, before_agent)
            await _sealing_steps(pod, attempt, channel, group)
            await close_boundary(attempt, channel)
        await _drain(attempt)
        group.cancel_scope.cancel()
