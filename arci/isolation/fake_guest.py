"""A guest that exists in this event loop alone: its streams, its tree of tasks, its end. Used by `fake`.

What a guest does is a *program*, an async function over its side of the pipes (`GuestPipes`); `fake_script` makes one
from a script.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from arci.errors import EngineError
from arci.isolation.base import Chunk, Exit, ProcessSpec, TrialPlan
from arci.model.trial import Role

__all__ = ["FakeFaults", "FakeGuest", "GuestEnded", "GuestPipes", "PodBoard", "Program"]


@dataclass(frozen=True, slots=True)
class FakeFaults:
    """What breaks on the fake's side for one guest: errors to raise, and a stream that never closes."""

    start: EngineError | None = None
    wait: EngineError | None = None
    stop: EngineError | None = None
    get: EngineError | None = None
    output_never_closes: bool = False


class GuestEnded(Exception):
    """Raised within a program to end the process with this code or signal."""

    def __init__(self, code: int = 0, signal: int | None = None) -> None:
        super().__init__(code, signal)
        self.exit = Exit(code if signal is None else 128 + signal, signal)


class PodBoard:
    """What the guests of one fake pod share: named flags, and connections to what listens."""

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[str], None]] = {}
        self.half_closes = False
        """What listens says nothing more after its greeting."""
        self.processes: dict[Role, ProcessSpec] = {}
        """What was started, by role (of the environment, the server that was started last)."""
        self.ends: dict[Role, Exit] = {}
        """How the guests ended that have ended."""
        self._flags: dict[str, anyio.Event] = {}

    def flag(self, name: str) -> anyio.Event:
        """The event of that name; `<role> started` and `<role> ended` are set by the pod itself."""
        return self._flags.setdefault(name, anyio.Event())


@dataclass(slots=True)
class GuestPipes:
    """A program's own side: stdin to read, streams to write, files, its environment, the pod's board."""

    plan: TrialPlan
    role: Role
    process: ProcessSpec
    board: PodBoard
    workdir: str
    environment: dict[str, str]
    files: dict[str, bytes | str] = field(default_factory=dict)
    """Absolute path -> content, or the target of a symbolic link (text)."""
    on_term: Program | None = None
    """What runs on SIGTERM; None: the signal kills."""
    ignores_term: bool = False
    speed: float = 1.0
    stdout: Callable[[bytes], None] | None = None
    """Where stdout goes instead of to the host: of a server, its connection."""
    _stdin: deque[bytes] = field(default_factory=deque)
    _stdin_closed: bool = False
    _chunks: deque[Chunk] = field(default_factory=deque)
    _news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def server(self) -> str:
        """The name of the server that this guest is; empty for one that is none."""
        return "" if self.process.serve is None else self.process.serve[0]

    def write(self, data: bytes, stream: str = "stdout") -> None:
        if stream == "stdout" and self.stdout is not None:
            self.stdout(data)
            return
        self._chunks.append(Chunk(stream, data))
        self.wake()

    def write_frame(self, frame: dict[str, Any]) -> None:
        """One JSON object and its newline, to stdout."""
        self.write(json.dumps(frame).encode() + b"\n")

    async def read(self) -> bytes:
        """The next piece of stdin; b"" at its end."""
        while not self._stdin:
            if self._stdin_closed:
                return b""
            await self.changed()
        return self._stdin.popleft()

    async def read_line(self) -> bytes:
        """The next line with its newline; what is left at the end of stdin; b"" after it."""
        line = b""
        while b"\n" not in line:
            piece = await self.read()
            if not piece:
                return line
            line += piece
        line, newline, rest = line.partition(b"\n")
        if rest:
            self._stdin.appendleft(rest)
        return line + newline

    async def read_frame(self) -> dict[str, Any] | None:
        """The next JSON object of stdin; None at its end."""
        line = await self.read_line()
        frame: dict[str, Any] | None = json.loads(line) if line else None
        return frame

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds / self.speed)

    def feed(self, data: bytes) -> None:
        """The host's side: bytes for stdin."""
        if data and not self._stdin_closed:
            self._stdin.append(data)
            self.wake()

    def close_stdin(self) -> None:
        self._stdin_closed = True
        self.wake()

    async def next_chunk(self, ended: anyio.Event) -> Chunk | None:
        """The host's side: the next output, None when the guest has ended and all is read."""
        while not self._chunks:
            if ended.is_set():
                return None
            await self.changed()
        return self._chunks.popleft()

    async def changed(self) -> None:
        """Until something of this guest changes: its streams, its files, its end."""
        await self._news.wait()

    def wake(self) -> None:
        """Something has changed."""
        self._news.set()
        self._news = anyio.Event()


Program: TypeAlias = Callable[[GuestPipes], Awaitable[Exit | int | None]]
"""A guest as a function. It ends with what it returns (a code, an `Exit`, None for 0) or with `GuestEnded`."""


class FakeGuest:
    """See `arci.isolation.base.Guest`."""

    def __init__(self, pipes: GuestPipes, program: Program, faults: FakeFaults) -> None:
        self.pipes = pipes
        self._program = program
        self._faults = faults
        self._ended = anyio.Event()
        self._exit: Exit | None = None
        self._main = anyio.CancelScope()
        self._signalled: int | None = None

    async def run(self) -> None:
        """The guest's life; the pod runs it in its task group."""
        exit_: Exit | None = None
        try:
            with self._main:
                exit_ = await _lived(self._program, self.pipes)
            if exit_ is None and self._signalled == 15 and self.pipes.on_term is not None:
                self._main = anyio.CancelScope()
                with self._main:
                    exit_ = await _lived(self.pipes.on_term, self.pipes)
        finally:
            number = self._signalled or 9
            self._end(exit_ or Exit(128 + number, number, killed_by_us=True))

    def _end(self, exit_: Exit) -> None:
        self._exit = exit_
        board, role = self.pipes.board, self.pipes.role
        board.ends[role] = exit_
        board.flag(f"{role} ended").set()
        self._ended.set()
        self.pipes.wake()

    async def send(self, data: bytes) -> None:
        if self._exit is None and self.pipes.process.serve is None:  # a server's stdin is its connection
            self.pipes.feed(data)

    async def output(self) -> AsyncIterator[Chunk]:
        while (chunk := await self.pipes.next_chunk(self._ended)) is not None:
            yield chunk
        if self._faults.output_never_closes:
            await anyio.sleep_forever()

    async def wait(self, timeout_s: float) -> Exit | None:
        if self._faults.wait is not None:
            raise self._faults.wait
        return await self._wait(timeout_s)

    async def _wait(self, timeout_s: float) -> Exit | None:
        with anyio.move_on_after(timeout_s / self.pipes.speed):
            await self._ended.wait()
        return self._exit

    async def stop(self, grace_s: float) -> Exit:
        if self._faults.stop is not None:
            raise self._faults.stop
        return await self.end(grace_s)

    async def end(self, grace_s: float) -> Exit:
        """What `stop` does where nothing is scripted to break; the pod itself always ends its guests."""
        with anyio.CancelScope(shield=True):
            if self._exit is None and grace_s > 0 and not self.pipes.ignores_term:
                self._signal(15)
            if self._exit is None and grace_s > 0:
                await self._wait(grace_s)
            if self._exit is None:
                self._signal(9)
            await self._ended.wait()
        assert self._exit is not None
        return self._exit

    def _signal(self, number: int) -> None:
        self._signalled = number
        self._main.cancel()


async def _lived(program: Program, pipes: GuestPipes) -> Exit:
    """How `program` ended by itself."""
    try:
        end = await program(pipes)
    except GuestEnded as ended:
        return ended.exit
    return end if isinstance(end, Exit) else Exit(end or 0)
