"""A whole trial for the fake back end as one value: what the recorder, the agent and the grader do. For tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from arci.isolation.base import Exit, TrialPlan
from arci.isolation.fake_guest import GuestEnded, GuestPipes, Program
from arci.isolation.fake_script import program_of
from arci.isolation.groups import task_group
from arci.isolation.script import Script
from arci.model.trial import Role

__all__ = ["ScriptedTrial"]

EVENTS_SENT = "events sent"
SERVERS_STOPPED = "servers stopped"


def _ready() -> dict[str, Any]:
    listening = ["unix:/arci/socket", "tcp:127.0.0.1:47112"]
    return {"type": "ready", "tools": [], "servers": [], "listening": listening}


@dataclass(frozen=True, slots=True)
class ScriptedTrial:
    """Called with a plan and a role it answers with that guest's program: `FakeIsolation(ScriptedTrial(...))`.

    By default everything goes well and nothing happens: the recorder is ready, the agent starts, ends with 0, the final
    state is {}, the grade is success. Frames are those of docs/reference/control-channel.md.
    """

    ready: Mapping[str, Any] | None = field(default_factory=_ready)
    """The recorder's answer to `begin` (a `trouble` frame, for instance); None: it never answers."""
    events: Sequence[Mapping[str, Any]] = ()
    """Payloads of `event` frames, sent once the agent has started; the agent's own script runs after them."""
    frames: Sequence[Mapping[str, Any]] = ()
    """Whole frames sent after the events: `latched`, `trouble`, anything."""
    noise: bytes = b""
    """Raw bytes sent after those: what is no frame."""
    statuses: Sequence[Mapping[str, Any]] | None = None
    """The `status` frames; None: told from what the agent's guest really does, as `arci-init` would."""
    agent: Script | Program = ()
    environment: Script | Program | None = None
    """What each server in a container of its own does; None: it lives until the recorder stops it, and ends with 0."""
    initial_state: Mapping[str, Any] | None = None
    """The state told right after `ready`; None: none is told, as by a recorder that is not asked for one."""
    final_state: Mapping[str, Any] | None = field(default_factory=dict)
    """None: the recorder never answers `agent_gone`."""
    count: int | None = None
    """What `end` says; None: the true number of events."""
    quits_after: str | None = None
    """`begin`, `ready`, `events` or `final_state`: where the recorder ends, with `quit_code`."""
    quit_code: int = 1
    grade: bool | Mapping[str, Any] | bytes | None = True
    """Success; the `error` of a grade; raw stdout; None: the grader never ends."""
    grader_exit: int = 0

    def __call__(self, plan: TrialPlan, role: Role) -> Program:
        programs: dict[Role, Program] = {
            Role.BOUNDARY: self._recorder,
            Role.ENVIRONMENT: self._server,
            Role.AGENT: self._agent,
            Role.GRADER: self._grader,
        }
        return programs[role]

    async def _recorder(self, pipes: GuestPipes) -> int:
        try:
            async with task_group() as tasks:
                code = await self._serve(pipes, tasks.start_soon)
                tasks.cancel_scope.cancel()
            return code
        finally:
            pipes.board.flag(SERVERS_STOPPED).set()

    async def _server(self, pipes: GuestPipes) -> Exit | int | None:
        if self.environment is None:
            await pipes.board.flag(SERVERS_STOPPED).wait()
            return 0
        program = program_of(self.environment) if isinstance(self.environment, tuple) else self.environment
        return await program(pipes)

    async def _serve(self, pipes: GuestPipes, start_soon: Any) -> int:
        while (frame := await pipes.read_frame()) is not None:
            if frame["type"] == "stop":
                return 0
            if frame["type"] == "begin":
                if self.quits_after == "begin":
                    return self.quit_code
                if self.ready is not None:
                    pipes.write_frame(dict(self.ready))
                    if self.initial_state is not None:
                        pipes.write_frame({"type": "initial_state", "state": dict(self.initial_state)})
                    start_soon(self._report, pipes)
                if self.quits_after == "ready":
                    return self.quit_code
            if frame["type"] == "agent_gone" and self.final_state is not None:
                return await self._finish(pipes)
        return 0

    async def _report(self, pipes: GuestPipes) -> None:
        """What the recorder tells while the agent lives."""
        await pipes.board.flag("agent started").wait()
        for status in self._first_statuses(pipes):
            pipes.write_frame({"type": "status", **status})
        for event in self.events:
            pipes.write_frame({"type": "event", "event": {"at_s": 0.0, **event}})
        for frame in self.frames:
            pipes.write_frame(dict(frame))
        if self.noise:
            pipes.write(self.noise)
        pipes.board.flag(EVENTS_SENT).set()
        if self.quits_after == "events":
            raise GuestEnded(self.quit_code)
        if self.statuses is None:
            await pipes.board.flag("agent ended").wait()
            pipes.write_frame({"type": "status", **_ended(pipes.board.ends[Role.AGENT])})
        pipes.board.flag("reported").set()

    def _first_statuses(self, pipes: GuestPipes) -> Sequence[Mapping[str, Any]]:
        if self.statuses is not None:
            return self.statuses
        is_worker = "worker" in pipes.board.processes[Role.AGENT].argv
        return ({"status": "started"}, {"status": "worker_ready"}) if is_worker else ({"status": "started"},)

    async def _finish(self, pipes: GuestPipes) -> int:
        if Role.AGENT in pipes.board.processes:
            await pipes.board.flag("reported").wait()
        pipes.board.flag(SERVERS_STOPPED).set()
        pipes.write_frame({"type": "final_state", "state": dict(self.final_state or {})})
        if self.quits_after == "final_state":
            return self.quit_code
        pipes.write_frame({"type": "end", "count": len(self.events) if self.count is None else self.count})
        return 0

    async def _agent(self, pipes: GuestPipes) -> Exit | int | None:
        await pipes.board.flag(EVENTS_SENT).wait()
        program = program_of(self.agent) if isinstance(self.agent, tuple) else self.agent
        return await program(pipes)

    async def _grader(self, pipes: GuestPipes) -> int:
        given = b""
        while piece := await pipes.read():
            given += piece
        if self.grade is None:
            await anyio.sleep_forever()
        if isinstance(self.grade, bytes):
            pipes.write(self.grade)
        else:
            pipes.write_frame({"type": "grade", "nonce": json.loads(given)["nonce"], **_grade(self.grade)})
        return self.grader_exit


def _grade(grade: bool | Mapping[str, Any] | None) -> dict[str, Any]:
    return {"error": dict(grade)} if isinstance(grade, Mapping) else {"success": grade}


def _ended(end: Exit) -> dict[str, Any]:
    """As `arci-init` reports an end to the recorder."""
    how = {"code": end.code} if end.signal is None else {"signal": end.signal}
    return {"status": "ended", **how, "oom_kills": 0}
