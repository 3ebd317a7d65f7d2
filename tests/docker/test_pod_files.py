"""The agent's files: written by any user, limited, fetched after its death, and never through a link."""

from __future__ import annotations

import io
import tarfile

import pytest
from pods import KEEP, LIMIT_S, ended, image_with, plan, python, runtime_image, trial, within

from arci.isolation.base import RunPlan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.pod import DockerPod
from arci.model.trial import Role

LINKS = """
import os
os.chdir(os.environ["HOME"])
open("plain", "w").write("mine")
open("large", "w").write("x" * 300000)
os.makedirs("out/deep")
open("out/deep/file", "w").write("deep")
os.symlink("/etc", "etc")
os.symlink("/etc/passwd", "passwd")
os.symlink("etc", "twice")
os.symlink("/", "out/root")
os.symlink("..", "out/up")
os.symlink("plain", "inside")
os.mkfifo("fifo")
"""
FILL = """
import os, sys
written = 0
try:
    with open(sys.argv[1], "wb", 0) as file:
        while written < 1 << 30:
            written += file.write(bytes(1 << 16))
except OSError as error:
    print(written, error.errno)
"""


@pytest.fixture(scope="module")
def isolation(engine: Engine) -> DockerIsolation:
    return DockerIsolation(engine)


@pytest.fixture
def run(engine: Engine) -> RunPlan:
    return plan(runtime_image(engine))


async def members(pod: DockerPod, path: str) -> dict[str, tuple[bytes | None, int]]:
    """Name -> content (None for what is no plain file) and owner, of the archive of `path`."""
    found: dict[str, tuple[bytes | None, int]] = {}
    with tarfile.open(fileobj=io.BytesIO(await pod.get(Role.AGENT, path, 1 << 20))) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            found[member.name] = (None if file is None else file.read(), member.uid)
    return found


def test_files_are_fetched_and_no_link_is_followed_on_the_way(isolation: DockerIsolation, run: RunPlan) -> None:
    """N43 at its source: the boundary's container, from which files are read, holds the world and the oracle."""

    async def main() -> None:
        async with isolation.open(run) as slots, slots.pod(trial()) as pod:
            await pod.start(Role.BOUNDARY, KEEP)
            said = await ended(await pod.start(Role.AGENT, python(LINKS)))
            assert said.exit.code == 0, said.stderr.decode()
            for path in ("plain", "./plain", "plain/"):
                assert await members(pod, path) == {"plain": (b"mine", 0)}
            assert (await members(pod, "out/deep/file"))["file"][0] == b"deep"
            assert (await members(pod, "out"))["out/deep/file"][0] == b"deep"
            for link in ("passwd", "etc", "inside", "out/root", "etc/."):
                ((_, (content, _uid)),) = (await members(pod, link)).items()
                assert content is None, f"{link} was followed"
            everything = await members(pod, ".")
            assert {name for name, (content, _) in everything.items() if content is not None} == {
                "./plain",
                "./large",
                "./out/deep/file",
            }
            for path in (
                *("missing", "missing/below", "plain/below", "etc/passwd", "twice/passwd"),
                *("out/root/etc/passwd", "out/up/plain", "../etc/passwd", "out/../plain", "etc/../etc/passwd"),
            ):
                with pytest.raises(FileNotFoundError):
                    await pod.get(Role.AGENT, path, 1 << 20)
            with pytest.raises(ValueError, match="over 100000 bytes"):
                await pod.get(Role.AGENT, "large", 100_000)

    within(main)


def test_an_image_with_a_user_of_its_own_writes_its_workdir(engine: Engine, isolation: DockerIsolation) -> None:
    """N47: the volume is root's when it is made, and the image's USER is kept."""
    code = 'import os; print(os.getuid()); open("/work/result", "w").write("done"); os.mkdir("/work/d")'
    with image_with(engine, "USER 10001") as tag:
        run = plan(runtime_image(engine), agent=tag)

        async def main() -> None:
            async with isolation.open(run) as slots, slots.pod(trial()) as pod:
                await pod.start(Role.BOUNDARY, KEEP)
                said = await ended(await pod.start(Role.AGENT, python(code)))
                assert (said.exit.code, said.stdout) == (0, b"10001\n"), said.stderr.decode()
                assert await members(pod, "result") == {"result": (b"done", 10001)}

        within(main)


def test_user_auto_gives_each_slot_a_uid_of_its_own(engine: Engine, isolation: DockerIsolation) -> None:
    run = plan(runtime_image(engine), user="auto")
    code = 'import os; open("/work/result", "w").close(); print(os.getuid())'

    async def main() -> set[bytes]:
        async with isolation.open(run) as slots, slots.pod(trial()) as one, slots.pod(trial("candidate")) as other:
            ran = [await ended(await pod.start(Role.AGENT, python(code))) for pod in (one, other)]
            assert [said.exit.code for said in ran] == [0, 0]
            return {said.stdout for said in ran}

    assert within(main) == {b"61001\n", b"61002\n"}


@pytest.mark.parametrize("place", ["$HOME/file", "$TMPDIR/file", "/dev/shm/file", "/work/file"])
def test_writable_places_are_limited(isolation: DockerIsolation, run: RunPlan, place: str) -> None:
    """N48: a read-only root still has a HOME and a TMPDIR, neither of which can fill the machine's disk."""
    process = python(f"import os, sys; sys.argv = ['', os.path.expandvars({place!r})]\n{FILL}")
    limit = run.manifest.isolation.disk_bytes

    async def main() -> None:
        async with isolation.open(run) as slots, slots.pod(trial()) as pod:
            for role in (Role.AGENT, Role.GRADER) if place != "/work/file" else (Role.AGENT,):
                said = await ended(await pod.start(role, process))
                written, number = map(int, said.stdout.split())
                assert 0 < written <= limit
                assert number == 28  # ENOSPC

    within(main)


def test_files_are_limited_in_number_too(isolation: DockerIsolation, run: RunPlan) -> None:
    code = """
made = 0
try:
    while made < 100000:
        open("/work/%d" % made, "w").close()
        made += 1
except OSError as error:
    print(made, error.errno)
"""

    async def main() -> None:
        async with isolation.open(run) as slots, slots.pod(trial()) as pod:
            made, number = map(int, (await ended(await pod.start(Role.AGENT, python(code)))).stdout.split())
            assert 1000 < made <= run.manifest.isolation.disk_bytes // 4096
            assert number == 28

    within(main, LIMIT_S)
