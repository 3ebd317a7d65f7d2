"""Process isolation beyond the contract: places, sweeping, errors of the machine, and what it says of itself."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from e2e import until

from arci.errors import EngineError
from arci.isolation.base import Pod, ProcessSpec, TrialPlan
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.process import directories
from arci.isolation.process.directories import RunDirectory, choose_base, remove_tree, run_directories, sweep
from arci.isolation.process.isolation import NO_INIT, NOTHING_ISOLATED, ProcessIsolation
from arci.isolation.process.stragglers import descendants, kill_stragglers, stragglers
from arci.isolation.script import Exit, Sleep, render
from arci.model.trial import Role

PLAN = TrialPlan("clean:00000:candidate", "candidate", 1)


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A place of this test's own for private directories."""
    short = Path("/tmp") / f"arci-test-{os.getpid()}"
    short.mkdir(mode=0o700)
    monkeypatch.setattr(directories, "candidate_bases", lambda: [short])
    yield short
    remove_tree(short)


@asynccontextmanager
async def opened() -> AsyncIterator[Pod]:
    plan = conformance_plan("process", root="/srv/x")
    arm = replace(plan.manifest.arms["candidate"], source="agents/old/../candidate")
    plan = replace(plan, manifest=replace(plan.manifest, arms={**plan.manifest.arms, "candidate": arm}))
    async with ProcessIsolation().open(plan) as slots, slots.pod(PLAN) as pod:
        yield pod


def test_source_is_the_arm_s_for_the_agent_and_the_project_s_for_the_others() -> None:
    async def main() -> None:
        async with opened() as pod:
            assert pod.source(Role.AGENT) == "/srv/x/agents/candidate"
            assert pod.source(Role.BOUNDARY) == pod.source(Role.GRADER) == "/srv/x"

    anyio.run(main)


def test_everything_of_a_pod_is_private_to_the_user_and_its_socket_path_is_short() -> None:
    async def main() -> None:
        async with opened() as pod:
            await pod.start(Role.AGENT, ProcessSpec(("true",)))
            work = Path(pod.workdir(Role.AGENT))
            for path in (work, *list(work.parents)[:2]):
                assert stat.S_IMODE(path.stat().st_mode) == 0o700
            assert len(pod.listen.removeprefix("unix:")) <= directories.SOCKET_PATH_BYTES
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(pod.listen.removeprefix("unix:"))
            listener.close()

    anyio.run(main)


def test_check_says_that_nothing_is_isolated(base: Path) -> None:
    findings = anyio.run(ProcessIsolation().check, conformance_plan("process"))
    assert findings.problems == ()
    assert findings.warnings[0] == NOTHING_ISOLATED
    assert findings.facts["directory"] == str(base)


def test_check_says_when_there_is_no_arci_init(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.isolation.process.isolation.find_init", lambda: None)
    findings = anyio.run(ProcessIsolation().check, conformance_plan("process"))
    assert NO_INIT in findings.warnings
    assert findings.facts["init"] is None


def test_a_place_too_long_for_a_socket_is_a_clear_refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(directories, "candidate_bases", lambda: [tmp_path / ("x" * 80), Path("/no/such/place")])
    with pytest.raises(EngineError, match="a socket there would have a path of") as caught:
        choose_base()
    assert "not writable" in str(caught.value)
    assert "TMPDIR" in str(caught.value)
    findings = anyio.run(ProcessIsolation().check, conformance_plan("process"))
    assert len(findings.problems) == 1


def test_an_argv_too_long_for_the_system_is_an_error_of_the_place_not_of_the_agent() -> None:
    async def main() -> None:
        async with opened() as pod:
            with pytest.raises(EngineError, match=r"start agent: .*Argument list too long"):
                await pod.start(Role.AGENT, ProcessSpec(("true", "x" * 10_000_000)))

    anyio.run(main)


def test_no_argv_is_refused_because_there_is_no_image() -> None:
    async def main() -> None:
        async with opened() as pod:
            with pytest.raises(EngineError, match="no argv"):
                await pod.start(Role.AGENT, ProcessSpec(()))

    anyio.run(main)


@pytest.mark.parametrize(
    ("program", "code"),
    [("/no/such/program", 127), ("/etc/passwd/below", 127), ("/etc/passwd", 126), ("/etc", 126), ("a\0b", 126)],
)
def test_a_boundary_that_cannot_be_executed_never_started(program: str, code: int) -> None:
    async def main() -> None:
        async with opened() as pod:
            guest = await pod.start(Role.BOUNDARY, ProcessSpec((program,)))
            end = await guest.wait(0)
            assert end is not None
            assert (end.code, end.started, end.killed_by_us) == (code, False, False)
            assert program in end.detail
            assert [chunk async for chunk in guest.output()] == []
            await guest.send(b"x")
            assert await guest.stop(0) == end

    anyio.run(main)


def test_a_pod_s_descriptors_are_all_closed_again() -> None:
    def opened_now() -> set[tuple[str, str]]:
        found = set()
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  (names alone)
            with contextlib.suppress(FileNotFoundError):  # the listing's own
                found.add((name, str(Path("/proc/self/fd", name).readlink())))
        return found

    async def main() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        async with ProcessIsolation().open(conformance_plan("process")) as slots:
            seen = []
            for _ in range(3):
                async with slots.pod(PLAN) as pod:
                    for role in (Role.BOUNDARY, Role.AGENT, Role.GRADER):
                        await pod.start(role, ProcessSpec(render((Sleep(600),), sys.executable)))
                seen.append(opened_now())
            return seen[0], seen[-1]

    first, last = anyio.run(main)
    assert last <= first  # what others of this process close meanwhile is no concern of a pod's


def dead_run(base: Path, run_id: str) -> Path:
    """The directory of a run whose owner is gone, with a process that still runs there."""
    directory = RunDirectory.make(run_id)
    os.close(directory.lock)
    assert directory.path.parent == base
    return directory.path


def sleeper(home: Path, *, detached: bool = False) -> subprocess.Popen[bytes]:
    environment = {"HOME": str(home), "PATH": os.defpath}
    process = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=detached)
    # `Popen` returns while the kernel still sets the new program up: its environment can be read a moment later.
    until(lambda: os.fsencode(home) in Path(f"/proc/{process.pid}/environ").read_bytes())
    return process


def test_a_sweep_takes_dead_runs_with_their_processes_and_leaves_living_ones(base: Path) -> None:
    dead = dead_run(base, "dead")
    half_removed = dead_run(base, "half")
    (half_removed / directories.LOCK).unlink()
    alive = RunDirectory.make("alive")
    lost = sleeper(dead / "pod-1" / "agent" / "home", detached=True)
    mine = sleeper(alive.path / "pod-1" / "agent" / "home")
    try:
        assert set(sweep()) == {dead, half_removed}
        assert lost.wait(60) == -signal.SIGKILL
        assert mine.poll() is None
        assert run_directories() == [alive.path]
    finally:
        mine.kill()
        mine.wait()
    alive.remove()
    assert run_directories() == []


def test_a_sweep_leaves_what_only_looks_like_a_run(base: Path, tmp_path: Path) -> None:
    (base / "arci-run-file").write_text("")
    (base / "arci-run-link").symlink_to(tmp_path)
    (base / "other").mkdir()
    assert sweep() == []
    assert tmp_path.exists()


def test_stragglers_are_told_by_their_home_and_nothing_else(base: Path) -> None:
    inside, beside = sleeper(base / "run-1" / "home"), sleeper(base / "run-10" / "home")
    try:
        assert stragglers(f"{base}/run-1/") == [inside.pid]
        assert stragglers(f"{base}/run-1/", since_pid=inside.pid) == [inside.pid]
        kill_stragglers(f"{base}/run-1/")
        assert inside.wait(60) == -signal.SIGKILL
        assert beside.poll() is None
    finally:
        beside.kill()
        beside.wait()


def test_descendants_are_found_across_sessions() -> None:
    shell = subprocess.Popen(["sh", "-c", "setsid sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
    assert shell.stdout is not None
    child = int(shell.stdout.readline())
    try:
        assert child in descendants(shell.pid)
    finally:
        for pid in (child, shell.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shell.wait()
        shell.stdout.close()


def test_a_tree_that_forbids_its_removal_is_removed(base: Path) -> None:
    shut = base / "run" / "shut"
    (shut / "below").mkdir(parents=True)
    (shut / "below" / "file").write_text("")
    shut.chmod(0)
    remove_tree(base / "run")
    assert not (base / "run").exists()


def test_a_tree_thousands_of_directories_deep_is_removed(base: Path) -> None:
    top = base / "run"
    top.mkdir()
    fd = os.open(top, os.O_DIRECTORY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    remove_tree(top)
    assert not top.exists()


def test_exit_codes_are_kept_where_a_supervisor_ignores_sigchld() -> None:
    async def main() -> int | None:
        async with opened() as pod:
            end = await (await pod.start(Role.AGENT, ProcessSpec(render((Exit(7),), sys.executable)))).wait(60)
            assert end is not None
            return end.code

    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert anyio.run(main) == 7
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_unread_output_holds_the_guest_back_and_memory_down() -> None:
    """A guest that floods is stopped by its own pipe; every byte is there once somebody reads."""
    flood = ProcessSpec(("head", "-c", "8000000", "/dev/zero"))

    async def main() -> int:
        async with opened() as pod:
            guest = await pod.start(Role.BOUNDARY, flood)
            assert await guest.wait(0.3) is None
            return sum([len(chunk.data) async for chunk in guest.output()])

    assert anyio.run(main) == 8_000_000


def test_a_pod_waits_for_a_free_worker() -> None:
    async def main() -> None:
        async with ProcessIsolation().open(conformance_plan("process", workers=1)) as slots:
            async with slots.pod(PLAN):
                with anyio.move_on_after(0.05) as scope:
                    async with slots.pod(PLAN):
                        pass
                assert scope.cancelled_caught
            async with slots.pod(PLAN) as pod:
                assert await (await pod.start(Role.AGENT, ProcessSpec(render((Exit(0),), sys.executable)))).wait(60)

    anyio.run(main)


def test_what_a_guest_is_given_is_written_without_arci_init_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.isolation.process.isolation.find_init", lambda: None)

    async def main() -> None:
        async with opened() as pod:
            assert pod.shim is None
            path = f"{pod.scratch(Role.AGENT)}/deep/task.json"
            made = f"{pod.workdir(Role.AGENT)}/out"
            argv = ("sh", "-c", 'cat "$1"; cd "$2" && echo " made"', "sh", path, made)
            guest = await pod.start(Role.AGENT, ProcessSpec(argv, files={path: b"given"}, directories=(made,)))
            assert b"".join([chunk.data async for chunk in guest.output()]) == b"given made\n"

    anyio.run(main)


@pytest.mark.parametrize("path", ["/proc/no/such", "relative", "/etc/passwd/below", "/tmp/nul\0"])
def test_what_cannot_be_given_is_an_error_of_the_place_and_names_the_path(path: str) -> None:
    async def main() -> None:
        async with opened() as pod:
            for process in (ProcessSpec(("true",), files={path: b""}), ProcessSpec(("true",), directories=(path,))):
                with pytest.raises(EngineError, match=r"start agent: .* cannot be made: ") as caught:
                    await pod.start(Role.AGENT, process)
                assert repr(path) in str(caught.value)

    anyio.run(main)


def test_a_server_needs_arci_init_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(role: Role, process: ProcessSpec, message: str) -> None:
        async with opened() as pod:
            with pytest.raises(EngineError, match=message):
                await pod.start(role, process)

    anyio.run(main, Role.ENVIRONMENT, ProcessSpec(("true",)), "an environment guest is a server")
    anyio.run(main, Role.AGENT, ProcessSpec(("true",), serve=("shop", "t")), "no other guest is one")
    monkeypatch.setattr("arci.isolation.process.isolation.find_init", lambda: None)
    anyio.run(main, Role.ENVIRONMENT, ProcessSpec(("true",), serve=("shop", "t")), "arci-init, which connects")


def test_places_of_roles_are_apart_and_below_the_pods_directory() -> None:
    async def main() -> None:
        async with opened() as pod:
            places = [place(role) for role in Role for place in (pod.workdir, pod.scratch)]
            assert len(set(places)) == len(places)
            assert {str(Path(place).parent) for place in places} == {str(Path(pod.listen[5:]).parent)}
            assert pod.listen_http == "tcp:127.0.0.1:0"

    anyio.run(main)


def test_a_tree_that_cannot_be_removed_for_want_of_descriptors_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*args: object, **options: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("arci.isolation.process.directories.shutil.rmtree", lambda *args, **options: None)
    monkeypatch.setattr("arci.isolation.process.directories.subprocess.run", exhausted)
    with pytest.raises(EngineError, match="Too many open files") as caught:
        remove_tree(tmp_path)
    assert str(tmp_path) in str(caught.value)
