"""`arci-init init`, the real program as a plain process: what it reports, and that nothing below it outlives it."""

from __future__ import annotations

import errno
import os
import platform
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from native import LIMIT_S, StatusPeer, init_path, is_alive, read_all, read_line, send, started


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[StatusPeer]:
    made = StatusPeer(tmp_path)
    yield made
    made.close()


def test_version_names_the_program() -> None:
    assert subprocess.check_output([init_path(), "--version"]).startswith(b"arci-init ")


def test_it_is_small_and_static() -> None:
    path = init_path()
    assert path.stat().st_size < 64 * 1024
    assert b"ld-musl" not in path.read_bytes()


@pytest.mark.parametrize(
    "argv", [(), ("nonsense",), ("init", "true"), ("init", "--"), ("init", "--status"), ("hold", "--listen")]
)
def test_a_wrong_call_is_refused_with_usage(argv: tuple[str, ...]) -> None:
    done = subprocess.run([init_path(), *argv], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 64
    assert b"usage:" in done.stderr


@pytest.mark.parametrize("header", [b"hello\n", b"feed x\n", b"feed -1\n", b"status \n", b"s" * 5000])
def test_a_malformed_header_starts_nothing(header: bytes, tmp_path: Path) -> None:
    with started("init", "--", "touch", str(tmp_path / "ran"), stderr=subprocess.DEVNULL) as process:
        send(process, header)
        assert process.wait(LIMIT_S) == 64
    assert not (tmp_path / "ran").exists()


def test_end_of_stdin_before_the_header_starts_nothing(tmp_path: Path) -> None:
    with started("init", "--", "touch", str(tmp_path / "ran")) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT_S) == 143
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("script", "code", "report"),
    [
        ("exit 0", 0, "ended exit 0 oom=-1"),
        ("exit 7", 7, "ended exit 7 oom=-1"),
        ("exit 137", 137, "ended exit 137 oom=-1"),
        ("kill -SEGV $$", 128 + signal.SIGSEGV, f"ended signal {signal.SIGSEGV} oom=-1"),
        ("kill -KILL $$", 137, "ended signal 9 oom=-1"),
    ],
)
def test_the_exact_wait_status_is_reported(peer: StatusPeer, script: str, code: int, report: str) -> None:
    with started("init", "--status", peer.address, "--", "sh", "-c", script) as process:
        send(process, b"status t0ken\n")
        peer.accept()
        assert peer.line() == "ARCI status t0ken"
        assert peer.line() == "started"
        assert peer.rest() == [report]
        assert process.wait(LIMIT_S) == code


def _not_executable(directory: Path) -> str:
    path = directory / "plain"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o644)
    return str(path)


def _not_a_program(directory: Path) -> str:
    path = directory / "garbage"
    path.write_bytes(b"\x7fELF but not really")
    path.chmod(stat.S_IRWXU)
    return str(path)


@pytest.mark.parametrize(
    ("program", "number", "code"),
    [
        (lambda d: "/no/such/program", errno.ENOENT, 127),
        (lambda d: "no-such-name-on-the-path", errno.ENOENT, 127),
        (_not_executable, errno.EACCES, 126),
        (_not_a_program, errno.ENOEXEC, 126),
    ],
)
def test_the_errno_of_exec_is_reported(
    peer: StatusPeer, tmp_path: Path, program: object, number: int, code: int
) -> None:
    assert callable(program)
    argv = ("init", "--status", peer.address, "--", program(tmp_path))
    with started(*argv, stderr=subprocess.DEVNULL) as process:
        send(process, b"status t\n")
        peer.accept()
        assert peer.line() == "ARCI status t"
        assert peer.rest() == [f"exec-failed {number}"]
        assert process.wait(LIMIT_S) == code


def test_the_child_has_a_session_no_stdin_and_none_of_our_descriptors(peer: StatusPeer) -> None:
    script = """
echo $(readlink /proc/self/fd/0)
echo $(ls /proc/self/fd)
grep -E 'Sig(Blk|Ign)' /proc/self/status | tr '\\n\\t' '  '
[ "$(cut -d' ' -f6 /proc/$$/stat)" = $$ ] && echo leads
"""
    with started("init", "--status", peer.address, "--", "sh", "-c", script) as process:
        send(process, b"status t\n")
        peer.accept()
        lines = read_all(process).decode().splitlines()
    none = "0000000000000000"
    # 3 is the listing itself.
    assert lines[:2] == ["/dev/null", "0 1 2 3"]
    assert lines[2].split() == ["SigBlk:", none, "SigIgn:", none, "leads"]


def test_signals_that_the_c_library_keeps_for_itself_are_given_back_too() -> None:
    """Whoever starts us may have any signal ignored; 32 is one that no `signal()` call reaches."""
    call = {"x86_64": 13, "aarch64": 134}[platform.machine()]
    ignoring = (
        "import ctypes, os, sys; action = (ctypes.c_ulong * 4)(1); "
        f"ctypes.CDLL(None).syscall({call}, 32, action, None, 8); os.execv(sys.argv[1], sys.argv[1:])"
    )
    grep = ("/bin/grep", "SigIgn", "/proc/self/status")

    def ignored(*argv: str) -> str:
        whole = (sys.executable, "-c", ignoring, *argv)
        with subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            send(process, b"feed 0\n")
            return read_all(process).decode().split()[1]

    assert int(ignored(*grep), 16) & 1 << 31, "the signal was ignored before arci-init"
    assert ignored(str(init_path()), "init", "--", *grep) == "0" * 16


def test_a_status_address_that_is_late_is_waited_for(tmp_path: Path) -> None:
    with started("init", "--status", f"unix:{tmp_path / 'status.sock'}", "--", "true") as process:
        send(process, b"status t\n")
        peer = StatusPeer(tmp_path)
        try:
            peer.accept()
            assert peer.line() == "ARCI status t"
            assert peer.rest()[0] == "started"
        finally:
            peer.close()


def test_without_a_reachable_status_address_nothing_is_started(tmp_path: Path) -> None:
    argv = ("init", "--status", "tcp:127.0.0.1:1", "--", "touch", str(tmp_path / "ran"))
    with started(*argv, stderr=subprocess.DEVNULL) as process:
        send(process, b"status t\n")
        assert process.wait(LIMIT_S) == 69
    assert not (tmp_path / "ran").exists()


def test_three_hundred_double_forks_are_reaped(peer: StatusPeer) -> None:
    script = """
import os
for _ in range(300):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
# The orphans have come to our parent. It reaps them while we wait for the count to fall.
parent, zombies = os.getppid(), 1
while zombies:
    stats = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stats.append(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split())
        except (FileNotFoundError, ProcessLookupError):
            pass
    zombies = sum(s[0] == "Z" and int(s[1]) == parent for s in stats)
print("reaped", flush=True)
"""
    with started("init", "--status", peer.address, "--", sys.executable, "-c", script) as process:
        send(process, b"status t\n")
        peer.accept()
        assert read_line(process) == "reaped"
        assert peer.rest()[-1] == "ended exit 0 oom=-1"


_FAMILY = """
sh -c 'echo $$; exec sleep 1000' &
setsid sh -c 'echo $$; exec sleep 1000' &
setsid sh -c 'setsid sh -c "echo \\$\\$; exec sleep 1000" & wait' &
echo $$
"""


def _family(process: subprocess.Popen[bytes]) -> list[int]:
    return [int(read_line(process)) for _ in range(4)]


def test_end_of_stdin_kills_the_whole_tree_whatever_its_sessions(peer: StatusPeer) -> None:
    with started("init", "--status", peer.address, "--", "sh", "-c", f"{_FAMILY} wait") as process:
        send(process, b"status t\n")
        peer.accept()
        pids = _family(process)
        assert all(map(is_alive, pids))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT_S) == 143
        assert not any(map(is_alive, pids))


def test_a_lost_status_connection_kills_the_whole_tree(peer: StatusPeer) -> None:
    with started("init", "--status", peer.address, "--", "sh", "-c", f"{_FAMILY} wait") as process:
        send(process, b"status t\n")
        peer.accept()
        pids = _family(process)
        peer.hang_up()
        assert process.wait(LIMIT_S) == 143
        assert not any(map(is_alive, pids))


def test_what_the_child_leaves_behind_ends_with_it(peer: StatusPeer) -> None:
    with started("init", "--status", peer.address, "--", "sh", "-c", f"{_FAMILY} wait") as process:
        send(process, b"status t\n")
        peer.accept()
        pids = _family(process)
        os.kill(_child_of(process.pid), signal.SIGKILL)
        assert process.wait(LIMIT_S) == 137
        assert peer.rest()[-1] == "ended signal 9 oom=-1"
        assert not any(map(is_alive, pids))


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def test_a_kill_of_the_program_itself_takes_the_child_along(peer: StatusPeer) -> None:
    with started("init", "--status", peer.address, "--", "sh", "-c", "echo $$; exec sleep 1000") as process:
        send(process, b"status t\n")
        peer.accept()
        pid = int(read_line(process))
        watch = os.pidfd_open(pid)  # readable when the process has ended
        process.kill()
        ready, _, _ = select.select([watch], [], [], LIMIT_S)
        os.close(watch)
        assert ready
        assert not is_alive(pid)


def test_term_is_passed_on_to_the_childs_group(peer: StatusPeer) -> None:
    script = "trap 'echo got it; exit 3' TERM; echo ready; sleep 1000 & wait"
    with started("init", "--status", peer.address, "--", "sh", "-c", script) as process:
        send(process, b"status t\n")
        peer.accept()
        assert read_line(process) == "ready"
        process.terminate()
        assert read_line(process) == "got it"
        assert process.wait(LIMIT_S) == 3
        assert peer.rest()[-1] == "ended exit 3 oom=-1"
