"""Starting a server's process: another uid, a group, a directory and an environment of its own, then its argv.

Nothing of the recorder's is in its reach: no descriptor, no variable, no signal handling.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what signal is made of; importing that would import enum
import os

from arci.boundary.environment import Pipes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional, Tuple, Union

    from arci.boundary.message import Launch

__all__ = ["kill_all_of", "start_process"]

_EXEC_FAILED = 127
_PR_SET_PDEATHSIG = 1
_KILL = 9


def start_process(launch: Launch, uid: Optional[int]) -> Union[Pipes, str]:
    """Its pid and pipes, once its argv runs; or in words why it does not. Blocks no longer than an exec takes."""
    requests, ask = os.pipe()
    answers, reply = os.pipe()
    stderr, log = os.pipe()
    told, tell = os.pipe()
    problem, pid = "", None
    try:
        pid = os.fork()
    except OSError as error:
        problem = f"fork: {_in_words(error)}"
    if pid == 0:
        _be_server(launch, uid, (requests, reply, log), tell)
    for fd in (requests, reply, log, tell):
        os.close(fd)
    problem = problem or _read_all(told)
    os.close(told)
    if pid is not None and not problem:
        return Pipes(pid, ask, answers, stderr)
    if pid is not None:
        os.waitpid(pid, 0)
    for fd in (ask, answers, stderr):
        os.close(fd)
    return problem


def kill_all_of(uid: int) -> None:
    """KILL every process of a user id that is no other's."""
    try:
        pid = os.fork()
    except OSError:
        _kill_each_of(uid)  # they may have left no number for one more
        return
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.kill(-1, _KILL)  # all that this user may signal, at one stroke, but not itself
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _kill_each_of(uid: int) -> None:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == uid:
                    os.kill(int(name), _KILL)
            except OSError:
                continue  # it has ended meanwhile


def _be_server(launch: Launch, uid: Optional[int], streams: Tuple[int, int, int], tell: int) -> None:
    """The child. Does not return."""
    step = ["start", launch.process]
    try:
        _become(launch, uid, streams, tell, step)
    except BaseException as error:
        _report(tell, step, error)
    finally:
        os._exit(_EXEC_FAILED)


def _become(launch: Launch, uid: Optional[int], streams: Tuple[int, int, int], tell: int, step: list[str]) -> None:
    """The child's whole way to its exec; `step` names what is being tried, and on what."""
    os.setsid()
    for number in range(1, _signal.NSIG):
        _signal_to_default(number)
    _keep_only(streams, tell)
    if uid is not None:
        step[:] = "set the user id", str(uid)
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    _die_with_recorder()
    step[:] = "make the directory", launch.workdir
    os.makedirs(launch.workdir, exist_ok=True)
    os.chdir(launch.workdir)
    if launch.file is not None:
        step[:] = "write", launch.file[0]
        _write(*launch.file)
    step[:] = "run", launch.argv[0]
    os.execvpe(launch.argv[0], launch.argv, _environment(launch.env))


def _signal_to_default(number: int) -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and what is ignored stays so in another program."""
    try:
        if _signal.getsignal(number) == _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_DFL)
    except (OSError, ValueError):
        pass  # KILL and STOP cannot be set


def _keep_only(streams: Tuple[int, int, int], tell: int) -> None:
    """The three streams become 0, 1 and 2; all else but `tell` is closed, even what the recorder itself inherited."""
    for fd, stream in enumerate(streams):
        os.dup2(stream, fd)
    try:
        opened = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        opened = list(range(3, 1024))
    for fd in opened:
        if fd > 2 and fd != tell:
            try:  # noqa: SIM105  # contextlib costs a guest its import
                os.close(fd)
            except OSError:
                pass  # the descriptor of the listing itself


def _die_with_recorder() -> None:
    """Should the recorder be killed, its servers are killed with it. After the change of uid, which forgets it."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _KILL, 0, 0, 0)
    except (AttributeError, ImportError, OSError):
        pass  # no Linux, or a Python without it: then the end of their input is what they see


def _environment(own: Dict[str, str]) -> Dict[str, str]:
    """What any program may expect, then the server's own."""
    default = {"PATH": os.defpath, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
    return {**{name: os.environ.get(name, value) for name, value in default.items()}, **own}


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _report(tell: int, step: list[str], error: BaseException) -> None:
    """What was being tried, on what, and why it failed."""
    os.write(tell, f"{step[0]} {step[1]!r}: {_in_words(error)}".encode("utf-8", "backslashreplace")[:4000])


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"{os.strerror(error.errno)} (errno {error.errno})"
    return f"{type(error).__name__}: {error}"


def _read_all(fd: int) -> str:
    data = b""
    while True:
        piece = os.read(fd, 4096)
        if not piece:
            return data.decode("utf-8", "replace")
        data += piece
