"""Agents that misbehave, as local processes: each is a FAIL of its own kind, never an ERROR; an honest one passes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e import Finished, arci, records
from misbehaviour import WAYS, experiment
from ways import Way, check, ways_on

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("misbehaviour")
    return arci("run", experiment(directory, "process"), "--out", directory / "runs", "--json")


@pytest.fixture(scope="module")
def found(ended: Finished) -> dict[str, dict[str, Any]]:
    return records(ended.run)


@pytest.mark.parametrize("way", ways_on(WAYS, "process"), ids=lambda way: way.name)
def test_it_ends_as_it_should_beside_an_honest_agent(way: Way, found: dict[str, dict[str, Any]]) -> None:
    check(way, found)


def test_misbehaviour_of_the_candidate_alone_blocks(ended: Finished) -> None:
    assert (ended.exit_code, ended.json["verdict"]) == (1, "BLOCK"), ended.stderr
    errors = [ended.json["conditions"][0][arm]["errors"] for arm in ("baseline", "candidate")]
    assert errors == [0, 0]


def test_a_forbidden_call_is_not_executed(found: dict[str, dict[str, Any]]) -> None:
    record = _candidate(found, "calls-a-forbidden-tool")
    assert record["final_state"]["destroyed"] == 0
    assert [violation["invariant"] for violation in record["contract"]["violations"]] == ["forbidden_tools"]


def test_calls_over_a_cap_are_not_executed(found: dict[str, dict[str, Any]]) -> None:
    assert _candidate(found, "calls-a-tool-too-often")["final_state"]["pings"] == 2


def test_calls_over_the_budget_are_not_executed(ended: Finished, found: dict[str, dict[str, Any]]) -> None:
    record = _candidate(found, "swallows-its-budget")
    events = arci("show", ended.run, record["trial_id"], "--json").json["events"]
    assert [event["executed"] for event in events if event["kind"] == "tool_finish"] == [True] * 8 + [False]
    assert record["final_state"]["done"] == 0


def test_what_an_agent_prints_is_kept_and_moves_nothing(ended: Finished, found: dict[str, dict[str, Any]]) -> None:
    record = _candidate(found, "looks-like-trouble-of-ours")
    logs = [arci("logs", ended.run, record["trial_id"], "--stream", stream) for stream in ("stdout", "stderr")]
    assert "Could not resolve host" in logs[0].stdout
    assert "No such container" in logs[1].stderr


def test_a_long_log_keeps_its_exact_size_and_its_end(ended: Finished, found: dict[str, dict[str, Any]]) -> None:
    record = _candidate(found, "floods-its-log")
    assert record["logs"]["agent"]["stdout"]["bytes"] == 64 * 65536 + len("\nthe last line\n")
    assert arci("logs", ended.run, record["trial_id"]).stdout.endswith("\nthe last line\n")


def test_a_log_that_was_changed_is_an_error_that_names_the_trial(
    ended: Finished, found: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    trial = _candidate(found, "floods-its-log")["trial_id"]
    run = Path(shutil.copytree(ended.run, tmp_path / "run"))
    path = next(path for path in (run / "logs").iterdir() if path.read_bytes().endswith(b"\nthe last line\n"))
    path.write_bytes(path.read_bytes().replace(b"the last line", b"the lost line"))
    judged = arci("gate", run, "--json")
    assert judged.exit_code == 3
    assert any(trial in reason for reason in judged.json["reasons"]), judged.json["reasons"]


def test_the_same_crash_with_another_exit_code_has_another_fingerprint(found: dict[str, dict[str, Any]]) -> None:
    names = ("exits-with-7", "exits-with-137", "exits-with-0-before-a-result", "kills-itself")
    assert len({_candidate(found, name)["fingerprint"] for name in names}) == len(names)


def test_a_claim_of_success_counts_for_nothing(found: dict[str, dict[str, Any]]) -> None:
    record = _candidate(found, "claims-success-and-does-nothing")
    assert record["agent"]["claim"] == {"success": True}
    assert record["contract"]["success"] is False


def test_no_process_of_the_run_is_left(ended: Finished) -> None:
    run_id = json.loads((ended.run / "run.json").read_bytes())["run_id"]
    mark = f"arci-run-{run_id.replace('-', '')[:12]}-".encode()
    assert not [path for path in Path("/proc").glob("[0-9]*") if mark in _environ(path)]


def _candidate(found: dict[str, dict[str, Any]], task: str) -> dict[str, Any]:
    return next(r for r in found.values() if r["task_id"] == task and r["arm"] == "candidate")


def _environ(process: Path) -> bytes:
    """The environment of a process, in which every guest has its workdir; empty where it is not ours to read."""
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
