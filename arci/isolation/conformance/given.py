"""Checks: what a guest is given is in its place before its first instruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arci.isolation.conformance.bench import TOKEN, Bench, require
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import Echo, ListDirectory, Print, ReadFile, pattern
from arci.model.trial import Role

__all__ = ["CHECKS"]

ODD = b"{}\n\0\xff put 3 /x\nmkdir /y"
"""A file's content that could be taken for more of the message that brings it."""


async def _reads(bench: Bench, role: Role, files: Mapping[str, bytes], **how: Any) -> None:
    """A guest that is given `files` (paths below its scratch directory) reads them."""
    async with bench.pod() as pod:
        given = {f"{pod.scratch(role)}/{path}": data for path, data in files.items()}
        ran = await bench.ran(pod, role, tuple(map(ReadFile, given)), files=given, **how)
        wanted = b"".join(files.values())
        require(
            (ran.stdout == wanted, ran.exit.code) == (True, 0),
            f"{role}: {len(ran.stdout)} bytes of {len(wanted)} read, {ran.exit}, {ran.stderr[-300:]!r}",
        )


@check("files given to a guest are there before its first instruction, whole, and in directories that were not")
async def files_are_given(bench: Bench) -> None:
    files = {"task.json": ODD, "a/b c/\u00fc": b"", "a/other": pattern(1000)}
    for role in (Role.AGENT, Role.GRADER):
        await _reads(bench, role, files)


@check("a file of 1 MiB is given whole")
async def large_file_is_given(bench: Bench) -> None:
    await _reads(bench, Role.AGENT, {"large": pattern(1 << 20), "after": b"it"})


@check("files are given to an agent with a status token, too")
async def files_and_status(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        path = f"{pod.scratch(Role.AGENT)}/task.json"
        ran = await bench.ran(pod, Role.AGENT, (ReadFile(path),), files={path: ODD}, status_token=TOKEN)
        await boundary.until(b"heard ended exit 0")
        require(ran.stdout == ODD, f"{ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("files are given together with a stdin")
async def files_and_stdin(bench: Bench) -> None:
    async with bench.pod() as pod:
        path = f"{pod.scratch(Role.GRADER)}/given"
        script = (ReadFile(path), Print(b"|"), Echo())
        ran = await bench.ran(pod, Role.GRADER, script, files={path: ODD}, stdin=b"the whole stdin")
        require(ran.stdout == ODD + b"|the whole stdin", f"{ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("directories given to a guest are there, empty, with those above them")
async def directories_are_given(bench: Bench) -> None:
    async with bench.pod() as pod:
        path = f"{pod.workdir(Role.AGENT)}/out/deep"
        ran = await bench.ran(pod, Role.AGENT, (ListDirectory(path), Print(b"listed")), directories=(path,))
        require((ran.stdout, ran.exit.code) == (b"listed", 0), f"{ran.stdout!r}, {ran.stderr[-300:]!r}")


CHECKS: tuple[Check, ...] = (
    files_are_given,
    large_file_is_given,
    files_and_status,
    files_and_stdin,
    directories_are_given,
)
