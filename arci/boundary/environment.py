"""The environment's own process: forked from the recorder, perhaps another uid, serving a toolset over two pipes."""

from __future__ import annotations

import os
import sys

from arci.boundary.toolset import ToolsetServer
from arci.guest import usercode
from arci.guest.streams import leave, write_all
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.jsonrpc import Request, parse_trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Sequence

__all__ = ["Pipes", "fork_environment"]


class Pipes:
    """The recorder's side of the environment: its pid, and the ends of its pipes."""

    __slots__ = ("answers", "ask", "pid", "stderr")

    def __init__(self, pid: int, ask: int, answers: int, stderr: int) -> None:
        self.pid = pid
        self.ask = ask
        self.answers = answers
        self.stderr = stderr


def fork_environment(reference: str, root: str, uid: Optional[int], private: Sequence[int]) -> Pipes:
    """Fork the environment. `private`: descriptors of the recorder that it must not have.

    It stays in the recorder's process group, so whoever ends that group ends it and what it started too.
    """
    requests, ask = os.pipe()
    answers, reply = os.pipe()
    stderr, log = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            for fd in (ask, answers, stderr, *private):
                os.close(fd)
            _become(log, uid)
            code = _serve(requests, reply, reference, root)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            usercode.show_error(error)
        finally:
            leave(code)  # what the recorder registered before the fork is not for this one to run
    for fd in (requests, reply, log):
        os.close(fd)
    return Pipes(pid, ask, answers, stderr)


def _become(log: int, uid: Optional[int]) -> None:
    """Empty stdin, stdout and stderr into the log, another user: nothing of the recorder's is in reach."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(null)
    os.close(log)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # what was printed before a kill is in the log
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def _serve(requests: int, reply: int, reference: str, root: str) -> int:
    """Answer until the recorder closes its end."""
    server = ToolsetServer(_loader(reference, root))
    decoder = LineDecoder(MAX_CONTROL_BYTES)
    while True:
        data = os.read(requests, 65536)
        if not data:
            return 0
        for line in decoder.feed(data):
            frame = parse_trusted(line) if isinstance(line, bytes) else None
            if isinstance(frame, Request):
                write_all(reply, server.answer(frame))


def _loader(reference: str, root: str) -> Callable[[], Callable[..., Any]]:
    """Import the module now, while the recorder waits for its orders; how that went is told when it is asked for."""
    failure: Optional[BaseException] = None
    try:
        usercode.enable(root)
        factory = usercode.load(reference)
    except Exception as error:
        failure = error

    def load() -> Callable[..., Any]:
        if failure is not None:
            raise failure
        return factory

    return load
