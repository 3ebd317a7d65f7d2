"""An agent that runs commands through its server changes neither the record nor the final state's way to the grader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e import Finished
from environments import by_arm, events, outcomes, run, server_images, tool_calls

from arci.isolation.docker.engine import Engine

pytestmark = pytest.mark.timeout(900)

RUNS: dict[str, Finished] = {}
CHEATS = 10
"""What the hostile agent tries, one command each, behind its order."""

both = pytest.mark.parametrize("name", ["shell-image", "shell-argv"])
each_arm = pytest.mark.parametrize("arm", ["baseline", "candidate"])


@pytest.fixture
def ended(name: str, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run, made once."""
    if name not in RUNS:
        server_images(engine)
        RUNS[name] = run(name, tmp_path_factory.mktemp(name))
    return RUNS[name]


def values(found: list[dict[str, Any]]) -> list[str]:
    """What each command printed, as it was recorded."""
    return [str(event["value"]) for event in found if event["kind"] == "tool_finish"]


@both
def test_the_outcome_is_what_the_oracle_says_of_the_order(name: str, ended: Finished) -> None:
    assert outcomes(ended) == {
        "baseline": ("PASS", "completed", None),
        "candidate": ("FAIL", "completed", "agent"),
    }
    states = {arm: record["final_state"]["files"] for arm, record in by_arm(ended).items()}
    assert states == {"baseline": {"order.txt": {"text": "right"}}, "candidate": {"order.txt": {"text": "wrong"}}}


@both
@each_arm
def test_every_command_is_recorded_and_nothing_else(
    name: str, arm: str, ended: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    found = events(capsys, ended, arm)
    assert tool_calls(found) == ["run"] * (1 + CHEATS)
    assert len(values(found)) == 1 + CHEATS
    assert (found[0]["kind"], found[-1]["kind"]) == ("trial_start", "trial_end")
    assert not any("forged" in str(event) for event in found if event["kind"] not in ("tool_start", "tool_finish"))


@both
@each_arm
def test_the_recorder_s_place_cannot_be_written_and_guesses_are_not_answered(
    name: str, arm: str, ended: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    said = values(events(capsys, ended, arm))
    written, guessed, read = said[1], said[2], said[4]
    assert "WRITTEN" not in written
    assert "REMOVED" not in written
    assert "ANSWERED" not in guessed
    assert all(f"closed {kind}" in guessed for kind in ("status", "environment", "mcp", "worker"))
    assert "READ" not in read
    assert "WRITTEN" not in said[5]


@both
@each_arm
def test_what_outlives_the_call_is_gone_before_the_grader(
    name: str, arm: str, ended: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    said = values(events(capsys, ended, arm))
    assert any("LISTENS forged" in text for text in said)  # or else there was nothing to end
    assert by_arm(ended)[arm]["contract"]["success"] is (arm == "baseline")


def test_an_agent_that_kills_its_server_fails_where_that_is_its_fault(engine: Engine, tmp_path: Path) -> None:
    server_images(engine)
    ended = run("shell-crash", tmp_path)
    assert outcomes(ended) == {
        "baseline": ("PASS", "completed", None),
        "candidate": ("FAIL", "environment", "agent"),
    }
