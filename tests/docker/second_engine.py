"""Another machine, as far as an engine goes: a second, empty dockerd without any network. Import the fixture to use it.

    from second_engine import second_engine  # noqa: F401

`own_engine` is one for those who want to break it. Each lives in a network namespace of its own, so it can neither
reach anything nor touch the rules of this machine's.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from arci.isolation.docker.engine import Engine

__all__ = ["SecondEngine", "own_engine", "second_engine"]

_START_S = 60.0
_STOP_S = 30.0


@dataclass(frozen=True)
class SecondEngine:
    """`url` is what `DOCKER_HOST` takes; `disk` where it keeps everything."""

    url: str
    disk: Path
    process: subprocess.Popen[bytes]

    @property
    def env(self) -> dict[str, str | None]:
        """What a user would set to use it."""
        return {"DOCKER_HOST": self.url, "DOCKER_TLS_VERIFY": None, "DOCKER_CONTEXT": None}

    @contextmanager
    def mute(self) -> Iterator[None]:
        """Within, it accepts connections (the kernel does) and answers none; its containers go on."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Within, there is no room on its disk, which must be in memory; nor is there once something is removed."""
        room = _bytes_of(self.disk)[0]
        # Who writes meanwhile needs more than was counted, and no disk shrinks below what it holds.
        end = time.monotonic() + _START_S
        while not _resize(self.disk, _bytes_of(self.disk)[1]):
            assert time.monotonic() < end, "it cannot be made smaller"
            time.sleep(0.01)
        over = threading.Event()
        shrinking = threading.Thread(target=_keep_full, args=(self.disk, over))
        shrinking.start()
        try:
            yield
        finally:
            over.set()
            shrinking.join()
            assert _resize(self.disk, room)

    async def connect(self, monkeypatch: pytest.MonkeyPatch) -> Engine:
        """A client of it, found as the command line would find it."""
        from arci.isolation.docker.engine import connect

        with monkeypatch.context() as patch:
            patch.setenv("DOCKER_HOST", self.url)
            return await connect()


@pytest.fixture(scope="session")
def second_engine(engine: Engine) -> Iterator[SecondEngine]:
    """Empty when the session begins, gone with everything in it at its end. Skips where none may be started."""
    with own_engine(engine) as found:
        yield found


@contextmanager
def own_engine(engine: Engine, *, room: str | None = None) -> Iterator[SecondEngine]:
    """An empty one, of the same storage driver as `engine`. `room`: its disk is in memory and so large (`2g`)."""
    missing = [name for name in ("dockerd", "docker", "setpriv", "unshare", "umount") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"a second engine takes root and {', '.join(missing) or 'nothing more'}")
    driver = engine.api.info()["Driver"]
    # Below the root's own file system: a socket's path must be short, and an overlay cannot lie on an overlay.
    root = Path(tempfile.mkdtemp(prefix="arci-dockerd-", dir="/var/tmp"))
    disk = root / "data"
    disk.mkdir()
    try:
        if room is not None:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)], check=True)
        with _running(root, driver) as process:
            yield SecondEngine(f"unix://{root / 'sock'}", disk, process)
    finally:
        _remove(root)


@contextmanager
def _running(root: Path, driver: str) -> Iterator[subprocess.Popen[bytes]]:
    # Should this process be killed, the kernel ends the engine, too.
    argv = ["setpriv", "--pdeathsig", "TERM", "unshare", "--net", "dockerd"]
    argv += ["--data-root", str(root / "data"), "--exec-root", str(root / "exec")]
    argv += ["--pidfile", str(root / "pid"), "--host", f"unix://{root / 'sock'}", "--storage-driver", driver]
    argv += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--log-level=warn"]
    environment = {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY") and k != "DOCKER_HOST"}
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            _await(process, root)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _bytes_of(disk: Path) -> tuple[int, int]:
    """(in all, used)."""
    found = os.statvfs(disk)
    return found.f_blocks * found.f_frsize, (found.f_blocks - found.f_bfree) * found.f_frsize


def _keep_full(disk: Path, over: threading.Event) -> None:
    while not over.wait(0.005):
        size, used = _bytes_of(disk)
        if used < size:
            _resize(disk, used)


def _resize(disk: Path, size: int) -> bool:
    return subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=False).returncode == 0


def _await(process: subprocess.Popen[bytes], root: Path) -> None:
    end = time.monotonic() + _START_S
    version = ["docker", "--host", f"unix://{root / 'sock'}", "version"]
    while subprocess.run(version, capture_output=True, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > end:
            said = (root / "log").read_text(errors="replace")[-3000:]
            pytest.fail(f"the second engine does not answer:\n{said}")
        time.sleep(0.2)


def _remove(root: Path) -> None:
    """Those who kept its containers may outlive it by a moment, and take mounts and files away themselves."""
    end = time.monotonic() + _START_S
    while True:
        for mount in _mounts_below(root):
            subprocess.run(["umount", "--lazy", mount], check=False)
        if not _mounts_below(root):
            shutil.rmtree(root, ignore_errors=True)
        if not root.exists():
            return
        assert time.monotonic() < end, f"it cannot be removed: {root}"
        time.sleep(0.1)


def _mounts_below(root: Path) -> list[str]:
    """The innermost first."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((mount for mount in mounts if mount.startswith(f"{root}/")), reverse=True)
