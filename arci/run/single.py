"""One trial without a run around it, and the tools of an experiment without a trial. Nothing is recorded."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from arci.errors import ArciError, Problem, SpecError, UsageError
from arci.isolation.base import Findings, Isolation, Pod, RunPlan, TrialPlan
from arci.isolation.groups import task_group
from arci.manifest.located import located
from arci.manifest.schedule import schedule
from arci.model.manifest import Environment, Manifest
from arci.model.trial import ARMS, Blame, Trial
from arci.run.attempt import Attempt
from arci.run.boundary_side import await_ready, close_boundary, open_boundary
from arci.run.environment_side import environment_path
from arci.run.facts import Trouble
from arci.run.masking import masked_errors
from arci.run.outside import with_egress
from arci.run.replay import Replay
from arci.run.result import TrialResult
from arci.run.setting import make_setting
from arci.run.trial import run_trial
from arci.run.witness import Masked, Witness

__all__ = ["Make", "Tools", "choose_trial", "live_trials", "make_one", "read_tools", "replay_one"]

Make = Callable[[Manifest, Trial], Awaitable[TrialResult]]


@dataclass(frozen=True, slots=True)
class Tools:
    """What an agent is shown, and what is kept from it."""

    tools: tuple[Mapping[str, Any], ...]
    """MCP tools (`name`, `description`, `inputSchema`, ...), each under the name it is recorded by."""
    servers: tuple[Mapping[str, Any], ...]
    """`name`, `era`, `revision`, `info` of each server, as it said itself."""
    hidden: tuple[str, ...]
    """`server.tool`, or the URI of a resource, that a snapshot takes and no agent can see or ask for."""


def choose_trial(manifest: Manifest, *, arm: str, condition: str | None, index: int) -> Trial:
    """The planned trial of that arm, condition (None: the first) and index. UsageError where there is none."""
    ids = [c.id for c in manifest.conditions]
    wanted = ids[0] if condition is None else condition
    if wanted not in ids:
        raise UsageError(f"--condition: {wanted!r} is not declared; allowed: {', '.join(ids)}.")
    if arm not in ARMS:
        raise UsageError(f"--arm: {arm!r}; allowed: {', '.join(ARMS)}.")
    if not 0 <= index < manifest.n_per_arm:
        raise UsageError(f"--index: {index}; from 0 to {manifest.n_per_arm - 1} is allowed.")
    trials = (t for t in schedule(manifest) if (t.arm, t.condition_id, t.index) == (arm, wanted, index))
    return next(trials)


async def make_one(
    manifest: Manifest,
    isolation: Isolation,
    trial: Trial,
    witness: Witness | None = None,
    host_env: Mapping[str, str] | None = None,
) -> TrialResult:
    """The trial as a run would make it, unsealed. `witness` sees its output and events, masked, as they come."""
    async with live_trials(manifest, isolation, trial.arm, witness, host_env) as make:
        return await make(manifest, trial)


@asynccontextmanager
async def live_trials(
    manifest: Manifest,
    isolation: Isolation,
    arm: str,
    witness: Witness | None = None,
    host_env: Mapping[str, str] | None = None,
) -> AsyncIterator[Make]:
    """What makes one trial of that arm after the other, as `make_one` does, in one place that is kept open. Each is
    made by a manifest that may differ from this one in conditions and tasks alone."""
    plan = RunPlan(str(uuid.uuid4()), manifest, 1)
    setting = make_setting(manifest, os.environ if host_env is None else host_env, witness=witness)
    missing = [name for name in manifest.arms[arm].secret_env.values() if name not in setting.host_env]
    if missing:
        raise UsageError(f"{arm}: takes the host's variable {missing[0]!r}, which is not set; it must be.")
    await _fit(isolation, plan)
    with masked_errors(setting.masks):
        async with with_egress(setting) as setting, isolation.open(plan) as slots:

            async def make(changed: Manifest, trial: Trial) -> TrialResult:
                result = await run_trial(slots, trial, replace(setting, manifest=changed), _unnoted)
                if isinstance(setting.witness, Masked):
                    setting.witness.rest()
                return result

            yield make


async def replay_one(
    manifest: Manifest, isolation: Isolation, trial: Trial, replay: Replay, witness: Witness | None = None
) -> TrialResult:
    """The recorded trial again: agent and grader run, the rest is answered out of the recording. Nothing of this host's
    environment is used and nothing is called outside. ArciError where the place does not fit."""
    plan = RunPlan(str(uuid.uuid4()), manifest, 1)
    setting = replace(make_setting(manifest, {}, witness=witness), replay=replay)
    await _fit(isolation, plan)
    async with isolation.open(plan) as slots:
        return await run_trial(slots, trial, setting, _unnoted)


async def read_tools(manifest: Manifest, isolation: Isolation) -> Tools:
    """What the experiment's environment offers. SpecError where it does not stand, ArciError where we failed."""
    plan = RunPlan(str(uuid.uuid4()), manifest, 1)
    await _fit(isolation, plan)
    trial = replace(schedule(manifest)[0], trial_id="tools", pair_id="tools")
    attempt = Attempt(trial, manifest, 1)
    async with isolation.open(plan) as slots, slots.pod(TrialPlan(trial.trial_id, trial.arm, 1)) as pod:
        troubles = await _stand_up(pod, attempt)
    _raise_first(troubles, manifest)
    said = attempt.conversation
    return Tools(tuple(said.tools), tuple(said.servers), hidden(manifest.environment))


def hidden(environment: Environment) -> tuple[str, ...]:
    """What the snapshots of servers ask for."""
    asked = [(s.name, s.snapshot) for s in environment.servers if s.snapshot is not None]
    tools = tuple(f"{name}.{how.tool}" for name, how in asked if how.tool is not None)
    return (*tools, *(how.uri for _, how in asked if how.uri is not None))


async def _stand_up(pod: Pod, attempt: Attempt) -> tuple[Trouble, ...]:
    """Everything that broke, without what closing the boundary in mid-trial makes of it."""
    async with task_group() as group:
        channel = await open_boundary(pod, attempt, group)
        if channel is not None:
            await await_ready(pod, attempt, channel, group, rehearsed=())
        troubles = tuple(attempt.conversation.troubles)
        if channel is not None:
            await close_boundary(attempt, channel)
        group.cancel_scope.cancel()
    return troubles


def _raise_first(troubles: tuple[Trouble, ...], manifest: Manifest) -> None:
    for trouble in troubles:
        text = f"{trouble.detail}\n{trouble.stderr.strip()[-1000:]}".strip()
        if trouble.blame is not Blame.ENVIRONMENT:
            raise ArciError(text)
        where = str(manifest.volatile.get("descriptor", manifest.experiment_id))
        problem = Problem(where, environment_path(manifest.environment, trouble.server), text)
        raise SpecError(located([problem], where, manifest.experiment_id))


async def _fit(isolation: Isolation, plan: RunPlan) -> Findings:
    findings = await isolation.check(plan)
    if findings.problems:
        raise ArciError("\n".join(findings.problems))
    return findings


async def _unnoted(trial_id: str, attempt: int) -> None:
    """Nothing is recorded, so nothing is noted before the agent starts."""
