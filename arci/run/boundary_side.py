"""The trusted side of a trial: start the boundary, begin, seal, stop. Every step leaves its troubles in the attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from arci.errors import EngineError
from arci.isolation.base import Pod, ProcessSpec
from arci.model.manifest import FaultSpec
from arci.model.trial import Blame, Role
from arci.run.attempt import Attempt
from arci.run.channel import Channel
from arci.run.environment_side import ending_s, explain_deaths, start_servers, take_initial_state
from arci.run.orders import begin_frame

__all__ = ["SLACK_S", "await_ready", "close_boundary", "open_boundary", "seal"]

SLACK_S = 5.0
"""How much later than the boundary, which names the culprit, the host gives up waiting."""
_STOP_S = 2.0


async def open_boundary(pod: Pod, attempt: Attempt, group: TaskGroup) -> Channel | None:
    """The recorder started and listened to, or None with the trouble written down."""
    channel: Channel | None = None
    with attempt.measure("start"):
        ref = attempt.manifest.environment.ref
        toolset = ("--toolset", ref) if ref is not None and attempt.replay is None else ()
        argv = pod.python(Role.BOUNDARY, "recorder", *toolset, "--root", pod.source(Role.BOUNDARY))
        guest = await pod.start(Role.BOUNDARY, ProcessSpec(argv))
        channel = Channel(guest, attempt.conversation, attempt.pulse, attempt.log(Role.BOUNDARY))
        group.start_soon(channel.listen)
    return channel


async def await_ready(
    pod: Pod, attempt: Attempt, channel: Channel, group: TaskGroup, *, rehearsed: Sequence[FaultSpec] | None = None
) -> None:
    """Says `begin`, starts the servers that dial in, and waits until the environment stands, its first state taken."""
    await _begin(attempt, channel, begin_frame(pod, attempt, rehearsed))
    await start_servers(pod, attempt, group)
    await _stand(attempt)
    await take_initial_state(pod, attempt)
    await explain_deaths(attempt)


async def _begin(attempt: Attempt, channel: Channel, frame: dict[str, Any]) -> None:
    limit_s = attempt.manifest.budgets.setup_seconds
    with attempt.measure("ready"), anyio.move_on_after(limit_s):
        await channel.send(frame)  # a recorder that does not read it is not ready either


async def _stand(attempt: Attempt) -> None:
    """`setup_seconds` to start the environment, as many to list its tools."""
    said = attempt.conversation
    limit_s = 2 * attempt.manifest.budgets.setup_seconds + SLACK_S
    with attempt.measure("ready"):
        await attempt.pulse.until(lambda: said.is_ready or said.is_closed or attempt.has_trouble, limit_s)
        if not said.is_ready and not attempt.has_trouble:
            said.trouble(Blame.HARNESS, f"the boundary was not ready after {limit_s:g} s")


async def seal(attempt: Attempt, channel: Channel) -> None:
    """Says that the agent is gone; waits for the final state and the end of the recording."""
    said = attempt.conversation
    limit_s = attempt.manifest.budgets.tool_seconds + 2 * SLACK_S + ending_s(attempt.manifest)
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
