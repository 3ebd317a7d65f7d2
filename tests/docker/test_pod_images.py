"""Agents in images that ARCI did not make: any user, any entry point, no Python, hardly a file system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import anyio
import pytest
from pods import BARE, Said, ended, image_with, plan, runtime_image, trial, within

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.model.trial import Role


def ran(engine: Engine, lines: str, process: ProcessSpec) -> Said:
    """An agent in an image of a shell, `cat`, `id` and the Dockerfile `lines`."""
    with image_with(engine, f"{BARE}\n{lines}") as tag:
        run = plan(runtime_image(engine), agent=tag)

        async def main() -> Said:
            async with DockerIsolation(engine).open(run) as slots, slots.pod(trial()) as pod:
                return await ended(await pod.start(Role.AGENT, process))

        return within(main)


@pytest.mark.parametrize(
    ("lines", "stdout"),
    [
        ('ENTRYPOINT ["/bin/sh", "-c", "echo entry point alone"]', b"entry point alone\n"),
        ('CMD ["sh", "-c", "echo command alone"]', b"command alone\n"),
        ('ENTRYPOINT ["sh", "-c"]\nCMD ["echo both"]', b"both\n"),
        ("ENV GREETING=hello\nCMD echo $GREETING from a shell; exit 3", b"hello from a shell\n"),
        ('WORKDIR /srv/app\nCMD ["sh", "-c", "pwd"]', b"/srv/app\n"),
    ],
)
def test_without_an_argv_the_image_s_entry_point_and_command_run(engine: Engine, lines: str, stdout: bytes) -> None:
    said = ran(engine, lines, ProcessSpec(()))
    assert (said.stdout, said.exit.code) == (stdout, 3 if b"from a shell" in stdout else 0), said


def test_an_argv_stands_for_entry_point_and_command(engine: Engine) -> None:
    said = ran(engine, 'ENTRYPOINT ["cat", "/etc/passwd"]\nCMD ["/etc/group"]', ProcessSpec(("sh", "-c", "echo this")))
    assert (said.stdout, said.exit.code) == (b"this\n", 0), said


def test_a_user_who_is_in_no_file_has_a_home_and_a_place_for_temporary_files(engine: Engine) -> None:
    """N47, N48: the image knows neither the user nor a directory that it could write to."""
    script = 'cd "$HOME" && echo 1 >own && echo 2 >"$TMPDIR/tmp" && cat own "$TMPDIR/tmp" && id -u && echo "$HOME"'
    said = ran(engine, "USER 10001\nENV HOME=/home/app", ProcessSpec(("sh", "-c", script)))
    assert (said.stdout, said.exit.code) == (b"1\n2\n10001\n/work\n", 0), said


def test_a_user_by_name_and_group_is_kept(engine: Engine) -> None:
    lines = "COPY passwd group /etc/\nUSER app:staff"
    files = {"passwd": b"app:x:4711:4712::/:/bin/sh\n", "group": b"staff:x:4713:\n"}
    with image_with(engine, f"{BARE}\n{lines}", files) as tag:
        run = plan(runtime_image(engine), agent=tag)

        async def main() -> Said:
            async with DockerIsolation(engine).open(run) as slots, slots.pod(trial()) as pod:
                return await ended(await pod.start(Role.AGENT, ProcessSpec(("sh", "-c", "id -u; id -g"))))

        assert within(main).stdout == b"4711\n4713\n"


def test_files_are_given_to_a_user_who_may_write_nowhere_else(engine: Engine) -> None:
    """And are that user's own."""
    files = {"/tmp/arci/task.json": b'{"sku": 1}\n', "/work/mcp.json": b"{}\n"}
    script = "cat /tmp/arci/task.json /work/mcp.json && echo more >>/work/mcp.json && cat /work/mcp.json"
    said = ran(engine, "USER 10001", ProcessSpec(("sh", "-c", script), files=files))
    assert (said.stdout, said.exit.code) == (b'{"sku": 1}\n{}\n{}\nmore\n', 0), said


def test_a_file_that_cannot_be_given_ends_the_agent_before_it_begins(engine: Engine) -> None:
    said = ran(engine, "", ProcessSpec(("sh", "-c", "echo begun"), files={"/etc/task.json": b"{}"}))
    assert (said.stdout, said.exit.code) == (b"", 73), said
    assert b"/etc/task.json" in said.stderr


def test_the_shim_needs_nothing_of_the_image(engine: Engine) -> None:
    """It is there and runs; nothing listens, which it says with a code of its own."""
    said = ran(engine, "USER 10001", ProcessSpec(("/opt/arci/bin/arci-init", "stdio", "unix:/no/such", "t")))
    assert said.exit.code == 69, said


@pytest.fixture(scope="module")
def empty(engine: Engine) -> Iterator[str]:
    with image_with(engine, BARE) as tag:
        yield tag


def test_an_image_that_names_no_command_is_found_before_the_first_trial(engine: Engine, empty: str) -> None:
    run = plan(runtime_image(engine), agent=empty)
    arms = {name: replace(arm, argv=()) for name, arm in run.manifest.arms.items()}
    run = replace(run, manifest=replace(run.manifest, arms=arms))
    problems = anyio.run(DockerIsolation(engine).check, run).problems
    assert [problem.partition(":")[0] for problem in problems] == ["image of baseline", "image of candidate"]


def test_an_image_that_names_no_command_is_an_error_of_the_run_not_of_the_agent(engine: Engine, empty: str) -> None:
    run = plan(runtime_image(engine), agent=empty)

    async def main() -> None:
        async with DockerIsolation(engine).open(run) as slots, slots.pod(trial()) as pod:
            with pytest.raises(EngineError, match="neither an ENTRYPOINT nor a CMD"):
                await pod.start(Role.AGENT, ProcessSpec(()))

    within(main)
