"""`arci diff`, `arci triage` and `arci trace-check`: what they print, and with which code they end."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e import call
from runs import Parts, edit_records, make_run, trial_parts

from arci.model.trial import Trial

A, B = "reserve-timeout:00000:baseline", "reserve-timeout:00000:candidate"
VERDICTS = [
    ({"baseline": "P" * 60, "candidate": "P" * 60}, "PASS", 0),
    ({"baseline": "P" * 60, "candidate": "P" * 20 + "F" * 40}, "BLOCK", 1),
    ({"baseline": "P" * 10, "candidate": "P" * 10}, "INCONCLUSIVE", 2),
    ({"baseline": "P" * 60, "candidate": "P" * 59 + "E"}, "ERROR", 3),
]


def parting(trial: Trial, letter: str) -> Parts:
    """The candidate makes a long run of calls, of which the one before the last is another."""
    record, events, logs = trial_parts(trial, letter)
    calls = [
        {"kind": "tool_start", "tool": "get", "call_id": str(n), "occurrence": n, "arguments": {"n": n}}
        for n in range(20)
    ]
    if trial.arm == "candidate":
        calls[-2]["arguments"] = {"n": True}
    return record, [*events[:3], *calls, events[3]], logs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "FP"}, parts=parting)


def test_diff_shows_where_two_trials_part_in_two_columns(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "diff", run, A, B)
    assert (ended.exit_code, ended.stderr) == (1, "")
    for told in (
        f"{A}: PASS (completed), 23 comparable steps",
        f"{B}: FAIL (completed), 23 comparable steps",
        "They part at step 21.",
        "  arguments.n: 18\n  against true\n",
        "last injection before that: tool_timeout on reserve[0]",
    ):
        assert told in ended.stdout
    (parted,) = [line for line in ended.stdout.splitlines() if line.startswith(">")]
    assert parted.split() == [">", "21", "call", "get[18]", '{"n":', "18}", "|", "call", "get[18]", '{"n":', "true}"]
    assert "get[15]" in ended.stdout
    assert "get[14]" not in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 100


def test_diff_shows_all_steps_when_asked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, "diff", run, A, B, "--all-steps").stdout
    assert all(f"get[{n}]" in text for n in range(20))
    assert len(call(capsys, "diff", run, A, B, "--all-steps", "--json").json["a"]["steps"]) == 23


def test_diff_of_a_trial_with_itself_ends_with_0(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, machine = call(capsys, "diff", run, A, A), call(capsys, "diff", run, A, A, "--json")
    assert (people.exit_code, machine.exit_code) == (0, 0)
    assert "The traces are the same: 23 comparable steps." in people.stdout
    assert (machine.json["same"], machine.json["index"]) == (True, None)


def test_diff_for_machines_has_the_steps_and_the_last_injection(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "diff", run, A, B, "--json")
    assert (ended.exit_code, ended.json["index"], ended.json["first"]) == (1, 20, 17)
    assert ended.json["b"]["step"]["arguments"] == {"n": True}
    assert ended.json["b"]["last_injection"]["fault"] == "tool_timeout"


@pytest.mark.parametrize(("outcomes", "verdict", "exit_code"), VERDICTS)
def test_triage_ends_with_the_code_of_the_verdict_and_changes_nothing(
    outcomes: dict[str, str], verdict: str, exit_code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, outcomes=outcomes)
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    people, machine = call(capsys, "triage", run), call(capsys, "triage", run, "--json")
    assert (people.exit_code, machine.exit_code) == (exit_code, exit_code)
    assert people.stdout.startswith(f"{verdict}  synthetic  (exit {exit_code})\n")
    assert (machine.json["verdict"], machine.json["exit_code"]) == (verdict, exit_code)
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_triage_tells_a_group_from_its_counts_to_the_next_commands(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = call(capsys, "triage", run).stdout
    for told in (
        "group 1 of 1: FAIL oracle|reserve timeout tool_timeout\n",
        "  baseline 0, candidate 1; condition reserve-timeout (INCONCLUSIVE)\n",
        f"such as {B}",
        f"{A} PASS\n",
        "They part at step 21.",
        f"stdout of agent of {B} (11 bytes)\n  | seed 12000\n",
        f"  arci minimize {run} {B} --out reserve-timeout-00000-candidate.smaller.arci.json\n",
        f"  arci bundle {run} {B} --out reserve-timeout-00000-candidate.arci\n",
    ):
        assert told in text


def test_the_commands_that_triage_tells_to_look_with_are_there(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = call(capsys, "triage", run, "--json").json["groups"][0]["commands"]
    assert call(capsys, *commands["show"][1:]).exit_code == 0
    assert call(capsys, *commands["diff"][1:]).exit_code == 1


def test_trace_check_matches_across_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (make_run(tmp_path / name, parts=parting) for name in ("one", "two"))
    ended = call(capsys, "trace-check", one, A, two, A)
    assert (ended.exit_code, ended.stdout.splitlines()[0]) == (0, "MATCH")
    assert call(capsys, "trace-check", one, A, two, A, "--json").json["agreement"] == "MATCH"


def test_trace_check_says_where_traces_drift(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, machine = call(capsys, "trace-check", run, A, run, B), call(capsys, "trace-check", run, A, run, B, "--json")
    assert (people.exit_code, machine.exit_code) == (1, 1)
    assert people.stdout.startswith("DRIFT\n")
    assert "They part at step 21." in people.stdout
    assert (machine.json["agreement"], machine.json["divergence"]["index"]) == ("DRIFT", 20)


def test_trace_check_of_what_does_not_hold_is_invalid(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = make_run(tmp_path / "broken", parts=parting)
    edit_records(broken, lambda record: record.update(trace_sha256="0" * 64))
    for args in ((broken, A), (run, "nothing"), (tmp_path / "nowhere", A)):
        people, machine = (
            call(capsys, "trace-check", run, A, *args),
            call(capsys, "trace-check", run, A, *args, "--json"),
        )
        assert (people.exit_code, machine.exit_code) == (3, 3)
        assert people.stdout.startswith("INVALID: ")
        assert (machine.json["agreement"], machine.json["divergence"]) == ("INVALID", None)
        assert str(args[0]) in machine.json["reason"]


@pytest.mark.parametrize("args", [("diff", A, "nothing"), ("diff", "nothing", A)])
def test_a_trial_that_there_is_not_is_named(
    args: tuple[str, ...], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, args[0], run, *args[1:])
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "'nothing'" in ended.stderr


@pytest.mark.parametrize("args", [("diff", A, B), ("triage",)])
def test_what_is_no_run_is_refused_by_name(
    args: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, args[0], tmp_path / "nowhere", *args[1:])
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert str(tmp_path / "nowhere") in ended.stderr


@pytest.mark.parametrize("args", [("diff", A), ("triage", "--groups", "0"), ("trace-check", A)])
def test_a_call_that_is_wrong_ends_with_64(
    args: tuple[str, ...], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(capsys, args[0], run, *args[1:]).exit_code == 64
