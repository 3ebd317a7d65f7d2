"""Checks: each guest has files of its own, and the host can fetch the agent's after its death."""

from __future__ import annotations

import io
import tarfile

from arci.isolation.base import Capability, Pod
from arci.isolation.conformance.bench import Bench, ConformanceFailure, require
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import Link, ListDirectory, Operation, Print, ReadFile, WriteFile, pattern
from arci.model.trial import Role

__all__ = ["CHECKS"]


@check("the agent can write in its workdir")
async def workdir_is_writable(bench: Bench) -> None:
    async with bench.pod() as pod:
        whole = f"{pod.workdir(Role.AGENT)}/note"
        ran = await bench.ran(pod, Role.AGENT, (WriteFile(whole, b"by path"), ReadFile("note"), ListDirectory(".")))
        require(ran.stdout == b"by pathnote", f"{ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("every pod begins with an empty workdir")
async def workdir_is_fresh(bench: Bench) -> None:
    for turn in range(2):
        ran = await bench.once((ListDirectory("."), WriteFile("left-behind", b"x")))
        require(ran.stdout == b"" and ran.exit.code == 0, f"pod {turn + 1} began with {ran.stdout!r}")


@check("HOME and TMPDIR are set and writable for every guest")
async def home_and_tmpdir(bench: Bench) -> None:
    script = (
        WriteFile("$HOME/a", b"home "),
        WriteFile("$TMPDIR/b", b"tmp"),
        ReadFile("$HOME/a"),
        ReadFile("$TMPDIR/b"),
    )
    for role in (Role.AGENT, Role.GRADER, Role.BOUNDARY):
        ran = await bench.once(script, role=role)
        require(ran.stdout == b"home tmp", f"{role}: {ran.stdout!r}, {ran.stderr[-300:]!r}")


async def _got(
    bench: Bench, script: tuple[Operation, ...], path: str, limit_bytes: int = 1 << 20
) -> dict[str, bytes | None]:
    """What the archive of `path` holds after an agent ran `script`: name -> content, None for what is no plain file."""
    async with bench.pod() as pod:
        await bench.keep_boundary(pod)
        ran = await bench.ran(pod, Role.AGENT, script)
        require(ran.exit.code == 0, f"the agent broke: {ran.exit}, {ran.stderr[-300:]!r}")
        return _contents(await pod.get(Role.AGENT, path, limit_bytes))


def _contents(archive: bytes) -> dict[str, bytes | None]:
    contents: dict[str, bytes | None] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            contents[member.name.removeprefix("./")] = None if file is None else file.read()
    return contents


@check("a file outlives its guest and is fetched exactly")
async def files_outlive_the_guest(bench: Bench) -> None:
    got = await _got(bench, (WriteFile("report.bin", pattern(1000), times=100),), "report.bin")
    require(got == {"report.bin": pattern(1000) * 100}, f"fetched were {sorted(got)}")


@check("a directory is fetched with all below it, named from its own name on")
async def directories_are_fetched(bench: Bench) -> None:
    got = await _got(bench, (WriteFile("out/a", b"1"), WriteFile("out/deep/b", b"2"), WriteFile("other", b"3")), "out")
    files = {name: content for name, content in got.items() if content is not None}
    require(files == {"out/a": b"1", "out/deep/b": b"2"}, f"fetched were {got}")


@check("the whole workdir is fetched as `.`")
async def workdir_is_fetched(bench: Bench) -> None:
    got = await _got(bench, (WriteFile("a", b"1"), WriteFile("out/b", b"2")), ".")
    require((got.get("a"), got.get("out/b")) == (b"1", b"2"), f"fetched were {got}")


async def _refused(pod: Pod, path: str, limit_bytes: int, error: type[Exception]) -> None:
    try:
        archive = await pod.get(Role.AGENT, path, limit_bytes)
    except error:
        return
    raise ConformanceFailure(f"get({path!r}, limit {limit_bytes}) gave {len(archive)} bytes; {error.__name__} is due")


@check("fetching more than the limit is a ValueError, whether one file or many")
async def get_has_a_limit(bench: Bench) -> None:
    many = tuple(WriteFile(f"many/{n}", b"") for n in range(100))
    async with bench.pod() as pod:
        await bench.keep_boundary(pod)
        await bench.ran(pod, Role.AGENT, (WriteFile("large", b"x", times=200_000), *many))
        await _refused(pod, "large", 100_000, ValueError)
        await _refused(pod, "many", 20_000, ValueError)


@check("fetching what is not there is a FileNotFoundError")
async def get_of_nothing(bench: Bench) -> None:
    async with bench.pod() as pod:
        await bench.keep_boundary(pod)
        await bench.ran(pod, Role.AGENT, (WriteFile("there", b""),))
        await _refused(pod, "missing", 1 << 20, FileNotFoundError)
        await _refused(pod, "missing/below", 1 << 20, FileNotFoundError)


@check("fetching follows no link out of the workdir")
async def get_follows_no_link(bench: Bench) -> None:
    links = (Link("file", "/etc/passwd"), Link("all/inner", "/etc/passwd"), Link("all/dir", "/etc"))
    script = (WriteFile("all/plain", b"mine"), *links)
    got = await _got(bench, script, ".")
    taken = {name: content for name, content in got.items() if content is not None}
    require(taken == {"all/plain": b"mine"}, f"fetched through links: {sorted(taken)}")


@check("nothing of the agent's files is in the grader's workdir")
async def grader_begins_clean(bench: Bench) -> None:
    async with bench.pod() as pod:
        await bench.keep_boundary(pod)
        await bench.ran(pod, Role.AGENT, (WriteFile("verdict", b"pass"),))
        ran = await bench.ran(pod, Role.GRADER, (ListDirectory(pod.workdir(Role.GRADER)),))
        require(b"verdict" not in ran.stdout and ran.exit.code == 0, f"the grader sees {ran.stdout!r}")


@check("no guest reads the agent's files by their path", needs=Capability.ISOLATES_FILES)
async def grader_cannot_read_the_agent(bench: Bench) -> None:
    async with bench.pod() as pod:
        await bench.keep_boundary(pod)
        path = f"{pod.workdir(Role.AGENT)}/verdict"
        await bench.ran(pod, Role.AGENT, (WriteFile(path, b"pass"),))
        ran = await bench.ran(pod, Role.GRADER, (Print(b"seen:"), ReadFile(path)))
        require(ran.stdout == b"seen:missing", f"the grader read {ran.stdout!r}")


CHECKS: tuple[Check, ...] = (
    workdir_is_writable,
    workdir_is_fresh,
    home_and_tmpdir,
    files_outlive_the_guest,
    directories_are_fetched,
    workdir_is_fetched,
    get_has_a_limit,
    get_of_nothing,
    get_follows_no_link,
    grader_begins_clean,
    grader_cannot_read_the_agent,
)
