"""The recorder: the boundary's program. Forks the environment, then relays one trial until the host ends it."""

from __future__ import annotations

import gc
import os
import sys

from arci.guest.options import options
from arci.guest.packs import unpack
from arci.guest.streams import leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

    from arci.boundary.environment import Pipes

__all__ = ["main"]

_NOBODY = 65534
BROKEN = 70
"""Exit code of a recorder that is itself at fault; a `trouble` frame has said so."""


def main(argv: Sequence[str]) -> NoReturn:
    """Never returns: exit code 0 when the host ended it."""
    asked = options(argv, ["root"], ["toolset", "uid", "silence-ms"])
    uid = int(asked["uid"]) if "uid" in asked else None
    incoming, outgoing = _claim_streams()
    toolset = asked.get("toolset")
    pipes = None if toolset is None else _fork(toolset, asked["root"], uid, (incoming, outgoing))
    if uid is not None:
        _hide_memory()
    silence_s = int(asked["silence-ms"]) / 1000 if "silence-ms" in asked else None
    # What a custom fault has left running must not hold back the end, and tidying up would take a millisecond.
    leave(_record(asked["root"], uid, (incoming, outgoing, silence_s), pipes))


def _claim_streams() -> tuple[int, int]:
    """Move the control channel away from where prints go: a custom fault's print must not look like a frame."""
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return incoming, outgoing


def _fork(toolset: str, root: str, uid: Optional[int], private: Sequence[int]) -> Pipes:
    """Before anything else is imported or read: the child has no use for it, and nothing secret is in memory yet."""
    from arci.boundary.environment import fork_environment

    return fork_environment(toolset, root, uid, private)


def _hide_memory() -> None:
    """Not dumpable: no other process of this container may trace this one or read its memory."""
    uid = os.geteuid()
    if uid == 0 and _is_hidden_by_a_change_of_uid():
        os.seteuid(_NOBODY)
        os.seteuid(uid)
        return
    import ctypes  # 3 ms of every trial

    pr_set_dumpable = 4
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_dumpable, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE, 0)")


def _is_hidden_by_a_change_of_uid() -> bool:
    """Whether the kernel takes a process that has changed its user id for one with secrets, as it does unless told
    otherwise: proc(5), suid_dumpable."""
    try:
        with open("/proc/sys/fs/suid_dumpable", "rb") as setting:
            return setting.read().strip() in (b"0", b"2")
    except OSError:
        return False


def _record(root: str, uid: Optional[int], channel: Tuple[int, int, Optional[float]], pipes: Optional[Pipes]) -> int:
    unpack("engine")
    from arci.boundary.engine import Engine
    from arci.boundary.host import HostPort
    from arci.boundary.loop import Loop
    from arci.boundary.peer import TOOLSET
    from arci.boundary.processes import Processes
    from arci.boundary.sockets import SocketPort

    host, processes = HostPort(*channel), Processes(uid)
    if pipes is not None:
        processes.adopt(TOOLSET, pipes)
    try:
        engine = Engine(_fault_loader(root), _snapshot_argv(root), _fixture_argv(root))
        gc.freeze()
        gc.enable()
        return Loop(engine, host, SocketPort(), processes).run()
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        detail = f"recorder: {type(error).__name__}: {error}"
        host.tell({"type": "trouble", "blame": "harness", "detail": detail, "phase": "trial", "stderr": ""})
        host.flush()
        return BROKEN
    finally:
        processes.end()
        processes.pass_on_log()
        _end_group()


def _guest_argv(guest: str, reference: str, root: str) -> List[str]:
    """What starts a guest that calls a function: user code, so a program of its own, without our memory."""
    launch = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "guest", "launch.py")
    return [sys.executable, "-I", "-S", launch, guest, "--ref", reference, "--root", os.path.abspath(root)]


def _snapshot_argv(root: str) -> Callable[[str, str], List[str]]:
    return lambda reference, workdir: [*_guest_argv("snapshot", reference, root), "--workdir", workdir]


def _fixture_argv(root: str) -> Callable[[str], Tuple[List[str], str, Dict[str, str]]]:
    """It runs where the toolset would, and with what the toolset would have."""
    return lambda reference: (_guest_argv("decide", reference, root), os.getcwd(), dict(os.environ))


def _fault_loader(root: str) -> Callable[[str], Any]:
    """Loads custom faults; the user's site-packages are switched on with the first."""
    is_enabled = False

    def load(reference: str) -> Any:
        from arci.guest import usercode

        nonlocal is_enabled
        if not is_enabled:
            usercode.enable(root)
            is_enabled = True
        return usercode.load(reference)

    return load


def _end_group() -> None:
    """Ask what tools have left running to end, where this process leads a group of its own (not as PID 1: then the
    kernel ends everything with it)."""
    if os.getpgrp() == os.getpid() != 1:
        import _signal  # type: ignore[import-not-found]  # what signal is made of; importing that would import enum

        _signal.signal(_signal.SIGTERM, _signal.SIG_IGN)
        os.killpg(0, _signal.SIGTERM)
