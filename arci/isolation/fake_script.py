"""Scripts interpreted without a process: what `script_guest` does in a real guest, done to the fake's pipes."""

from __future__ import annotations

import contextlib
import json
import posixpath
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.abc

from arci.isolation import script as s
from arci.isolation.fake_guest import GuestEnded, GuestPipes, Program
from arci.isolation.groups import task_group

__all__ = ["program_of"]


def program_of(script: s.Script) -> Program:
    """The fake program that does what `script` says."""

    async def program(pipes: GuestPipes) -> int:
        async with task_group() as tree:
            try:
                await _Process(pipes, tree).run(script)
            finally:
                tree.cancel_scope.cancel()  # the end of the main process is the end of its tree
        return 0

    return program


class _Process:
    """One process of a guest's tree."""

    def __init__(
        self, pipes: GuestPipes, tree: anyio.abc.TaskGroup, *, is_main: bool = True, quiet: bool = False
    ) -> None:
        self._pipes = pipes
        self._is_main = is_main
        self._tree = tree
        self._quiet = quiet
        self._closers: list[Callable[[], object]] = []

    async def run(self, script: s.Script) -> None:
        """GuestEnded when the process ends before its script does."""
        try:
            for operation in script:
                await _STEPS[type(operation)](self, operation)
        finally:
            for close in self._closers:
                close()

    def _put(self, data: bytes, stream: str = "stdout") -> None:
        if not self._quiet:
            self._pipes.write(data, stream)

    def _path(self, path: str) -> str:
        for name in ("HOME", "TMPDIR"):
            path = path.replace(f"${name}", self._pipes.environment[name])
        return posixpath.normpath(posixpath.join(self._pipes.workdir, path))

    async def print(self, op: s.Print) -> None:
        self._put(op.data * op.times, op.stream)

    async def pattern(self, op: s.Pattern) -> None:
        self._put(s.pattern(op.size), op.stream)

    async def echo(self, op: s.Echo) -> None:
        while data := await self._pipes.read():
            self._put(data)

    async def sleep(self, op: s.Sleep) -> None:
        await self._pipes.sleep(op.seconds)

    async def exit(self, op: s.Exit) -> None:
        raise GuestEnded(op.code)

    async def die(self, op: s.Die) -> None:
        raise GuestEnded(signal=op.number)

    async def on_term(self, op: s.OnTerm) -> None:
        if self._is_main:  # the signal goes to the guest; its children end with it
            self._pipes.ignores_term = not op.script
            self._pipes.on_term = program_of(op.script)

    async def write(self, op: s.WriteFile) -> None:
        self._pipes.files[self._path(op.path)] = op.data * op.times
        self._pipes.wake()

    async def read(self, op: s.ReadFile) -> None:
        content = self._pipes.files.get(self._path(op.path))
        self._put(content if isinstance(content, bytes) else b"missing")

    async def wait_for(self, op: s.WaitFor) -> None:
        while self._path(op.path) not in self._pipes.files:
            await self._pipes.changed()

    async def link(self, op: s.Link) -> None:
        self._pipes.files[self._path(op.path)] = op.target

    async def list(self, op: s.ListDirectory) -> None:
        start = self._path(op.path).rstrip("/") + "/"
        names = {path[len(start) :].split("/")[0] for path in self._pipes.files if path.startswith(start)}
        self._put("\n".join(sorted(names)).encode())

    async def environment(self, op: s.Environment) -> None:
        self._put(json.dumps(self._pipes.environment).encode())

    async def spawn(self, op: s.Spawn) -> None:
        child = _Process(self._pipes, self._tree, is_main=False, quiet=self._quiet or op.quiet)

        async def live() -> None:
            with contextlib.suppress(GuestEnded):
                await child.run(op.script)

        self._tree.start_soon(live)

    async def orphans(self, op: s.Orphans) -> None:
        self._put(b"made %d" % op.count)

    async def listen(self, op: s.Listen) -> None:
        listeners = self._pipes.board.listeners
        listeners[op.address] = lambda line: self._put(line.encode())
        self._pipes.board.half_closes = op.half_closes
        self._closers.append(lambda: listeners.pop(op.address, None))
        self._put(b"listening\n")
        while await self._pipes.read():
            pass

    async def hold(self, op: s.Hold) -> None:
        tell = self._pipes.board.listeners.get(op.address)
        if tell is None:
            self._put(b"ConnectionRefusedError\n", "stderr")
            raise GuestEnded(1)
        tell(f"open {op.name}\n")
        self._closers.append(lambda: tell(f"closed {op.name}\n"))
        self._put(f"held {op.name}\n".encode())

    async def python(self, op: s.Python) -> None:
        self._put(b"the fake runs no Python source\n", "stderr")
        raise GuestEnded(99)


_STEPS: dict[type[s.Operation], Callable[[_Process, Any], Awaitable[None]]] = {
    s.Print: _Process.print,
    s.Pattern: _Process.pattern,
    s.Echo: _Process.echo,
    s.Sleep: _Process.sleep,
    s.Exit: _Process.exit,
    s.Die: _Process.die,
    s.OnTerm: _Process.on_term,
    s.WriteFile: _Process.write,
    s.ReadFile: _Process.read,
    s.WaitFor: _Process.wait_for,
    s.Link: _Process.link,
    s.ListDirectory: _Process.list,
    s.Environment: _Process.environment,
    s.Spawn: _Process.spawn,
    s.Orphans: _Process.orphans,
    s.Listen: _Process.listen,
    s.Hold: _Process.hold,
    s.Python: _Process.python,
}
