"""The untrusted side of a trial: start the agent, run its clock, end it. The clock starts when the agent runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from arci.errors import EngineError
from arci.isolation.base import Exit, Guest, Pod, ProcessSpec
from arci.model.trial import Blame, Role
from arci.run.attempt import Attempt
from arci.run.facts import InitReport
from arci.run.outfit import outfit, upstream_variables
from arci.run.places import filled
from arci.run.setting import Setting

__all__ = ["agent_process", "await_import", "end_agent", "start_agent", "watch_agent"]

_LATCH_GRACE_S = 1.0
_EXIT_S = 10.0
"""How long the engine may take to tell of an end that `arci-init` has told of."""
_LOOK_S = 3600.0
_LEAST_LOOK_S = 0.02
"""How often at most a clock that stands still is looked at."""


def agent_process(pod: Pod, attempt: Attempt, setting: Setting) -> ProcessSpec:
    """What is started as the agent, and all it is told. EngineError where its command asks for what cannot be had."""
    arm, said = attempt.arm, attempt.conversation
    given = outfit(pod, attempt.trial, attempt.manifest.environment, attempt.agent_token, said.listening)
    secrets = {name: setting.host_env[host_name] for name, host_name in arm.secret_env.items()}
    argv = worker_argv(pod, attempt) if arm.kind == "python" else filled(arm.argv, given.places)
    if arm.kind == "command" and "mcp_url" not in given.places and any("{mcp_url}" in word for word in argv):
        raise EngineError("start agent", "{mcp_url}: the recorder has told no address for HTTP")
    outside = upstream_variables(pod, attempt.manifest, attempt.agent_token, said.listening)
    env = {**given.env, **outside, **arm.env, **secrets}
    return ProcessSpec(argv, env, status_token=attempt.status_token, files=given.files)


def worker_argv(pod: Pod, attempt: Attempt) -> tuple[str, ...]:
    """What runs a Python agent."""
    return pod.python(
        Role.AGENT,
        "worker",
        *("--ref", attempt.arm.ref or ""),
        *("--root", pod.source(Role.AGENT)),
        *("--dial", pod.dial),
        *("--token", attempt.agent_token),
    )


async def start_agent(pod: Pod, attempt: Attempt, setting: Setting, group: TaskGroup) -> Guest | None:
    """The agent's guest, once its process runs; None if it does not, with the trouble written down."""
    said, agent = attempt.conversation, None
    limit_s = setting.manifest.budgets.setup_seconds
    with attempt.measure("start"):
        attempt.agent_was_asked = True
        agent = await pod.start(Role.AGENT, agent_process(pod, attempt, setting))
        if not _reports_status(pod):
            end = await agent.wait(0.0)
            said.init = replace(said.init, started=end is None or end.started)
        group.start_soon(_take_output, agent, attempt)
        group.start_soon(_await_exit, agent, attempt, _reports_status(pod))
        await attempt.pulse.until(
            lambda: said.init.started or said.init.exec_errno is not None or _is_over(attempt), limit_s
        )
        if not said.init.started and said.init.exec_errno is None and not _is_over(attempt):
            said.trouble(Blame.HARNESS, f"the agent's process did not start within {limit_s:g} s (setup_seconds)")
    return agent


async def await_import(attempt: Attempt) -> None:
    """Until the worker has imported the agent's module (`setup_seconds`), or the agent is over; a command has none."""
    if attempt.arm.kind != "python":
        return
    limit_s = attempt.manifest.budgets.setup_seconds
    with attempt.measure("ready"):
        await _within(attempt, lambda: attempt.conversation.is_worker_ready, "setup_seconds", limit_s)


async def watch_agent(attempt: Attempt) -> None:
    """From its import on until the agent is over: it ended, met a budget or deadline, or something of ours broke."""
    if _is_over(attempt):
        return
    with attempt.measure("agent"):
        await _run_clock(attempt, attempt.manifest.budgets.max_seconds)
        if attempt.conversation.latched is not None:
            await attempt.pulse.until(lambda: attempt.exit is not None, _LATCH_GRACE_S)


async def end_agent(pod: Pod, attempt: Attempt, agent: Guest | None) -> None:
    """Every process of the agent is gone when this returns, unless the engine failed."""
    attempt.was_heard = not attempt.conversation.is_closed
    if agent is None:
        return
    with attempt.measure("seal"):
        if attempt.agent_ended and not attempt.has_trouble:
            await attempt.pulse.until(lambda: attempt.exit is not None, _EXIT_S)
        gone = await agent.stop(0.0)
        attempt.exit = attempt.exit or gone
        attempt.was_heard = not attempt.conversation.is_closed
        if not _reports_status(pod):
            attempt.conversation.init = _report_of(attempt.exit)


def _reports_status(pod: Pod) -> bool:
    """False for a pod whose agent runs without `arci-init` (processes, where it does not run on the machine)."""
    return bool(getattr(pod, "reports_status", True))


def _report_of(end: Exit) -> InitReport:
    """What `arci-init` would have reported, as far as the end of the guest tells."""
    if not end.started or end.code is None:
        return InitReport(started=end.started)
    if end.signal is not None:
        return InitReport(started=True, signal=end.signal)
    return InitReport(started=True, code=end.code)


async def _run_clock(attempt: Attempt, limit_s: float) -> None:
    """Until the agent is over or its time is up. Waiting for a model is its time, waiting for our pace is not."""
    begun, paused_s = anyio.current_time(), attempt.upstreams.paused_s

    def spent_s() -> float:
        return anyio.current_time() - begun - (attempt.upstreams.paused_s - paused_s)

    while (left_s := limit_s - spent_s()) > 0:
        if await attempt.pulse.until(lambda: _is_over(attempt), max(left_s, _LEAST_LOOK_S)):
            attempt.agent_seconds = spent_s()
            return
    attempt.agent_seconds = spent_s()
    attempt.deadline = "max_seconds"
    attempt.conversation.agent_is_over = True


async def _within(attempt: Attempt, reached: Callable[[], bool], name: str, limit_s: float) -> None:
    if await attempt.pulse.until(lambda: reached() or _is_over(attempt), limit_s):
        return
    attempt.deadline = name
    attempt.conversation.agent_is_over = True


async def _take_output(agent: Guest, attempt: Attempt) -> None:
    await attempt.log(Role.AGENT).drain(agent)
    attempt.pulse.beat()


async def _await_exit(agent: Guest, attempt: Attempt, reports_status: bool) -> None:
    """The engine's word alone does not settle the agent's fate: a boundary that dies takes the agent with it, and may
    be seen to have died later. What the boundary itself says of the agent's end comes in order."""
    try:
        while attempt.exit is None:
            attempt.exit = await agent.wait(_LOOK_S)
    except EngineError as error:
        attempt.conversation.trouble(Blame.ENGINE, str(error))
    if not reports_status:
        attempt.conversation.agent_is_over = True
    attempt.pulse.beat()


def _is_over(attempt: Attempt) -> bool:
    said = attempt.conversation
    return attempt.agent_ended or attempt.agent_is_judged or attempt.has_trouble or said.is_closed
