"""Official MCP servers as environments: each runs an experiment whose final state is taken in a way that fits it."""

from __future__ import annotations

from pathlib import Path

import pytest
from environments import FOLDER, NODE_IMAGE, by_arm, events, outcomes, run, server_images, tool_calls
from roots import file_names

from arci.isolation.docker.engine import Engine

pytestmark = pytest.mark.timeout(900)

OFFICIAL = ("everything", "filesystem", "git", "sqlite", "time")
RIGHT_AND_WRONG = {"baseline": ("PASS", "completed", None), "candidate": ("FAIL", "completed", "agent")}


@pytest.fixture(scope="module", autouse=True)
def _images(engine: Engine) -> None:
    server_images(engine)


@pytest.mark.parametrize("name", [each for each in OFFICIAL if each != "time"])
def test_a_right_agent_passes_and_a_wrong_one_fails(name: str, tmp_path: Path) -> None:
    assert outcomes(run(name, tmp_path)) == RIGHT_AND_WRONG


def test_the_tool_of_the_snapshot_is_hidden_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = run("time", tmp_path)
    assert outcomes(ended) == RIGHT_AND_WRONG
    assert by_arm(ended)["candidate"]["final_state"]["timezone"] == "UTC"
    # It asked for the hidden tool first.
    assert tool_calls(events(capsys, ended, "candidate"))[-1] == "convert_time"


def test_a_tool_that_two_servers_have_is_named_with_its_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = run("two", tmp_path)
    assert outcomes(ended) == RIGHT_AND_WRONG
    found = events(capsys, ended, "baseline")
    assert tool_calls(found) == ["left.write_file", "left.write_file", "right.write_file"]
    (injection,) = by_arm(ended)["baseline"]["injections"]
    assert (injection["tool"], injection["occurrence"]) == ("left.write_file", 0)
    assert set(by_arm(ended)["baseline"]["final_state"]) == {"left", "right"}


def test_the_image_of_the_node_servers_holds_no_python(engine: Engine) -> None:
    names = file_names(engine, NODE_IMAGE)
    assert "usr/local/bin/node" in names
    assert [name for name in names if "/bin/python" in name or "libpython" in name] == []


def test_every_descriptor_here_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {
        *OFFICIAL,
        "two",
        "shell-argv",
        "shell-crash",
        "shell-image",
    }
