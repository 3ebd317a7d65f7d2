"""PID 1 of a machine for an engine: `house.py DIRECTORY PROGRAM...`, with mounts, processes and network of its own.

Starts PROGRAM, again at SIGUSR1 if it has died, and ends it at SIGTERM. Where DIRECTORY has a `root`, PROGRAM sees no
other files; ARCI_TEST_ROOM limits the disk on which Docker keeps everything. Its process id, as seen here, is in
`DIRECTORY/engine`. With LISTEN_FDS the listening socket in file 3 is handed on as systemd does it. When this process
ends, however it ends, the kernel ends all of the machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

_PATIENCE_S = 15
_HEEDED = {signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM}


def mount(*argv: str) -> None:
    subprocess.run(["mount", *argv], check=True)


def furnish(directory: Path) -> Path:
    """Loopback, and the kernel's own file systems. The root that PROGRAM is to see."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    root = directory / "root"
    if not root.is_dir():
        mount("-t", "proc", "proc", "/proc")
        return Path("/")
    mount("--bind", str(root), str(root))  # a container's root can be changed below a mount alone
    mount("-t", "proc", "proc", str(root / "proc"))
    for name in ("sys", "dev"):
        mount("--rbind", f"/{name}", str(root / name))
    mount("-t", "tmpfs", "tmpfs", str(root / "run"))
    if room := os.environ.get("ARCI_TEST_ROOM"):
        store = root / "var" / "lib" / "docker"
        store.mkdir()
        mount("-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(store))
    return root


def start(argv: list[str], directory: Path, root: Path) -> int:
    """Fork PROGRAM; its process id."""
    pid = os.fork()
    if pid == 0:
        (directory / "engine").write_text(str(os.getpid()), encoding="ascii")  # before anybody can be answered by it
        become(argv, root)
    return pid


def become(argv: list[str], root: Path) -> NoReturn:
    """PROGRAM, in this process."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEEDED)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.setsid()
    os.chroot(root)
    os.chdir("/")
    if "LISTEN_FDS" in os.environ:
        os.environ["LISTEN_PID"] = str(os.getpid())
    os.execvp(argv[0], argv)


def reap() -> set[int]:
    """The children that have ended."""
    gone: set[int] = set()
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            gone.add(pid)
    except ChildProcessError:
        pass
    return gone


def main() -> None:
    directory, argv = Path(sys.argv[1]), sys.argv[2:]
    root = furnish(directory)
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)
    engine, is_ending = start(argv, directory, root), False
    while engine or not is_ending:
        told = signal.sigwait(_HEEDED)
        # At any signal: SIGUSR1 is taken before a SIGCHLD that came first.
        if engine in reap():
            engine = 0
        if told == signal.SIGUSR1 and engine == 0:
            engine = start(argv, directory, root)
        elif told == signal.SIGTERM:
            is_ending = True
            signal.alarm(_PATIENCE_S)
            if engine:
                os.kill(engine, signal.SIGTERM)
        elif told == signal.SIGALRM:
            return


if __name__ == "__main__":
    main()
