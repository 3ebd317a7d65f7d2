"""The trusted side of a trial: start the boundary, begin, seal, stop. Every step leaves its troubles in the attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import anyio
from anyio.abc import TaskGroup

from arci.errors import EngineError
from arci.isolation.base import Pod, ProcessSpec
from arci.model.manifest import FaultSpec
from arci.model.trial import Blame, Role
from arci.run.attempt import Attempt
from arci.run.channel import Channel

__all__ = ["SLACK_S", "await_ready", "begin_frame", "close_boundary", "open_boundary", "seal"]

SLACK_S = 5.0
"""How much later than the boundary, which names the culprit, the host gives up waiting."""
_STOP_S = 2.0


async def open_boundary(pod: Pod, attempt: Attempt, group: TaskGroup) -> Channel | None:
    """The recorder started and listened to, or None with the trouble written down."""
    channel: Channel | None = None
    with attempt.measure("start"):
        argv = pod.python(
            Role.BOUNDARY,
            "recorder",
            *("--toolset", attempt.manifest.environment.ref),
            *("--root", pod.source(Role.BOUNDARY)),
        )
        guest = await pod.start(Role.BOUNDARY, ProcessSpec(argv))
        stderr = attempt.log(Role.BOUNDARY).streams["stderr"]
        channel = Channel(guest, attempt.conversation, attempt.pulse, stderr)
        group.start_soon(channel.listen)
    return channel


async def await_ready(
    pod: Pod, attempt: Attempt, channel: Channel, *, rehearsed: Sequence[FaultSpec] | None = None
) -> None:
    """Says `begin` and waits until the environment stands: `setup_seconds` to start it, as many to list its tools."""
    said = attempt.conversation
    limit_s = 2 * attempt.manifest.budgets.setup_seconds + SLACK_S
    with attempt.measure("ready"):
        with anyio.move_on_after(limit_s):
            await channel.send(begin_frame(pod, attempt, rehearsed))
            await attempt.pulse.until(lambda: said.is_ready or said.is_closed or attempt.has_trouble, limit_s)
        if not said.is_ready and not attempt.has_trouble:
            said.trouble(Blame.HARNESS, f"the boundary was not ready after {limit_s:g} s")


def begin_frame(pod: Pod, attempt: Attempt, rehearsed: Sequence[FaultSpec] | None = None) -> dict[str, Any]:
    """The recorder's orders for this trial. `rehearsed`: it is only to be seen whether everything starts, these faults
    instead of the condition's among it; the agent's work does not begin."""
    manifest, trial = attempt.manifest, attempt.trial
    contract, budgets = manifest.contract, manifest.budgets
    faults = manifest.condition(trial.condition_id).faults if rehearsed is None else rehearsed
    return {
        "type": "begin",
        "listen": pod.listen,
        "tokens": {"agent": attempt.agent_token, "status": attempt.status_token},
        "trial": {"trial_id": trial.trial_id, "seed": trial.seed, "task": trial.task},
        "contract": {
            "max_tool_calls": contract.max_tool_calls,
            "forbidden_tools": list(contract.forbidden_tools),
            "max_calls_per_tool": contract.max_calls_per_tool,
        },
        "budgets": {
            "max_tool_calls": budgets.max_tool_calls,
            "max_model_steps": budgets.max_model_steps,
            "tool_seconds": budgets.tool_seconds,
            "setup_seconds": budgets.setup_seconds,
        },
        "faults": [asdict(fault) for fault in faults],
        "rehearsal": rehearsed is not None,
    }


async def seal(attempt: Attempt, channel: Channel) -> None:
    """Says that the agent is gone; waits for the final state and the end of the recording."""
    said = attempt.conversation
    limit_s = attempt.manifest.budgets.tool_seconds + 2 * SLACK_S
    with attempt.measure("seal"):
        with anyio.move_on_after(limit_s):
            await channel.send({"type": "agent_gone"})
            await attempt.pulse.until(lambda: said.has_ended or said.is_closed, limit_s)
        if not said.has_ended and not said.is_closed:
            said.trouble(Blame.HARNESS, f"the boundary did not end its recording within {limit_s:g} s")
        elif said.has_ended and said.final_state is None and not attempt.has_trouble:
            said.trouble(Blame.HARNESS, "the boundary ended without a final state")


async def close_boundary(attempt: Attempt, channel: Channel) -> None:
    """Stops the recorder and takes the rest of its output. All that counts has been said: its troubles are none."""
    try:
        with anyio.move_on_after(_STOP_S):
            await channel.send({"type": "stop"})
        if await channel.guest.wait(_STOP_S) is None:
            await channel.guest.stop(0.0)
        await attempt.pulse.until(lambda: attempt.conversation.is_closed, _STOP_S)
    except EngineError:
        return  # what is left of it the pod ends, or reports
