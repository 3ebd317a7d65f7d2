"""One guest as a local process: started in a session of its own, its streams and its end on the event loop.

A guest under `arci-init` is ended through init's stdin, which reaches every descendant; one that is started directly is
ended through its process group and the descendants that can still be seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence

import anyio

from arci.errors import EngineError
from arci.isolation.base import Chunk, Exit
from arci.isolation.process.exits import ExitWatch
from arci.isolation.process.pipes import InputPipe, OutputPipes
from arci.isolation.process.stragglers import descendants

__all__ = ["ProcessGuest", "UnstartedGuest", "spawn"]

KILL_PATIENCE_S = 8.0
"""How long a killed process may take to be gone (arci-init itself gives its tree 5 s)."""


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> subprocess.Popen[bytes]:
    """Start `argv` with three pipes, in a session of its own. OSError as from `subprocess.Popen`."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=env, cwd=cwd, start_new_session=True
    )


class ProcessGuest:
    """A running process; must be made on the event loop that serves it."""

    def __init__(self, process: subprocess.Popen[bytes], *, under_init: bool) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.pid = process.pid
        self.stdin = InputPipe(asyncio.get_running_loop(), _own(process.stdin.fileno()))
        self._process = process
        self._under_init = under_init
        self._loop = asyncio.get_running_loop()
        out, err = _own(process.stdout.fileno()), _own(process.stderr.fileno())
        self._output = OutputPipes(self._loop, {out: "stdout", err: "stderr"})
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        self._exit: Exit | None = None
        self._ended = anyio.Event()
        self._stopping = False
        self._watch = ExitWatch(process.pid)
        self._loop.add_reader(self._watch.fd, self._on_exit)

    def _on_exit(self) -> None:
        if self._exit is not None or not self._watch.has_ended():
            return
        self._loop.remove_reader(self._watch.fd)
        self._kill_group()  # before it is reaped: until then its pid and its group are its own
        code = self._process.wait()
        self._watch.close()
        number = -code if code < 0 else None
        code = 128 + number if number is not None else code
        # A guest that ends in its own way when it is told to stop was not killed; 143 is also arci-init's word for it.
        self._exit = Exit(code=code, signal=number, killed_by_us=self._stopping and code in (137, 143))
        self.stdin.close()
        self._output.finish()
        self._ended.set()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _kill_tree(self) -> None:
        strays = descendants(self.pid)
        self._kill_group()
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def _terminate(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._under_init:
                os.kill(self.pid, signal.SIGTERM)  # it hands the signal on
            else:
                os.killpg(self.pid, signal.SIGTERM)

    async def send(self, data: bytes) -> None:
        if not self._under_init:
            self.stdin.write(data)
            await self.stdin.drained()

    def output(self) -> AsyncIterator[Chunk]:
        return self._output.chunks()

    async def wait(self, timeout_s: float) -> Exit | None:
        self._on_exit()
        if self._exit is None:
            with anyio.move_on_after(timeout_s):
                await self._ended.wait()
        return self._exit

    async def stop(self, grace_s: float) -> Exit:
        self._on_exit()
        if self._exit is None:
            with anyio.CancelScope(shield=True):
                await self._stop(grace_s)
        if self._exit is None:
            raise EngineError("stop", f"process {self.pid} still runs {KILL_PATIENCE_S:g} s after it was killed")
        return self._exit

    async def _stop(self, grace_s: float) -> None:
        self._stopping = True
        if grace_s > 0:
            self._terminate()
            if await self.wait(grace_s) is not None:
                return
        if self._under_init:
            self.stdin.close()
            if await self.wait(KILL_PATIENCE_S) is not None:
                return
        self._kill_tree()
        await self.wait(KILL_PATIENCE_S)


class UnstartedGuest:
    """A guest whose program could not be executed: it has ended before it began, and never with 0."""

    def __init__(self, code: int, detail: str) -> None:
        self._exit = Exit(code=code, started=False, detail=detail)

    async def send(self, data: bytes) -> None:
        pass

    async def output(self) -> AsyncIterator[Chunk]:
        nothing: tuple[Chunk, ...] = ()
        for chunk in nothing:
            yield chunk

    async def wait(self, timeout_s: float) -> Exit | None:
        return self._exit

    async def stop(self, grace_s: float) -> Exit:
        return self._exit


def _own(fd: int) -> int:
    """A descriptor of our own (not inherited), so that no file object closes it behind our back."""
    return os.dup(fd)
