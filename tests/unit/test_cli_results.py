"""What the commands on a recorded run print, where, and with which exit code; on synthetic runs, so without running."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e import Finished, call
from runs import edit_records, make_run

PASS = {"baseline": "P" * 60, "candidate": "P" * 60}
BLOCK = {"baseline": "P" * 60, "candidate": "P" * 20 + "F" * 40}
INCONCLUSIVE = {"baseline": "P" * 10, "candidate": "P" * 10}
ERROR = {"baseline": "P" * 60, "candidate": "P" * 59 + "E"}
VERDICTS = [(PASS, "PASS", 0), (BLOCK, "BLOCK", 1), (INCONCLUSIVE, "INCONCLUSIVE", 2), (ERROR, "ERROR", 3)]
TRIAL = "reserve-timeout:00000:baseline"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path, outcomes=INCONCLUSIVE)


@pytest.mark.parametrize(("outcomes", "verdict", "exit_code"), VERDICTS)
def test_gate_ends_with_the_code_of_the_verdict(
    outcomes: dict[str, str], verdict: str, exit_code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, outcomes=outcomes)
    people, machine = call(capsys, "gate", run), call(capsys, "gate", run, "--json")
    assert (people.exit_code, machine.exit_code) == (exit_code, exit_code)
    assert people.stdout.startswith(f"{verdict} ")
    assert (machine.json["verdict"], machine.json["exit_code"]) == (verdict, exit_code)
    assert people.stderr == machine.stderr == ""


@pytest.mark.parametrize(("outcomes", "verdict", "exit_code"), VERDICTS)
def test_allow_inconclusive_forgives_that_verdict_alone(
    outcomes: dict[str, str], verdict: str, exit_code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "gate", make_run(tmp_path, outcomes=outcomes), "--allow-inconclusive", "--json")
    assert ended.exit_code == (0 if verdict == "INCONCLUSIVE" else exit_code)
    assert ended.json["exit_code"] == exit_code


def test_a_baseline_of_30_in_200_against_a_candidate_that_always_passes_is_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {"baseline": "P" * 30 + "F" * 170, "candidate": "P" * 200}
    ended = call(capsys, "gate", make_run(tmp_path, outcomes=outcomes), "--json")
    assert (ended.exit_code, ended.json["verdict"]) == (0, "PASS")


def test_gate_writes_the_same_decision_again_byte_for_byte(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "gate", run)
    first = (run / "decision.json").read_bytes()
    (run / "decision.json").unlink()
    ended = call(capsys, "gate", run, "--json")
    assert (run / "decision.json").read_bytes() == first
    assert ended.json["trials_sha256"] in first.decode()


def test_gate_writes_markdown_where_it_is_asked_to_and_into_the_summary_of_a_job(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    call(capsys, "gate", run, "--markdown", tmp_path / "report.md")
    written = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "INCONCLUSIVE" in written
    assert summary.read_text(encoding="utf-8") == f"before\n{written}"


def test_a_record_that_was_changed_is_an_error_that_names_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def flip(record: dict[str, object]) -> None:
        if record["trial_id"] == TRIAL:
            record["outcome"] = "FAIL"

    edit_records(run, flip, reseal=False)
    ended = call(capsys, "gate", run)
    assert ended.exit_code == 3
    assert TRIAL in ended.stdout


@pytest.mark.parametrize("format_", ["text", "md"])
def test_report_tells_a_run_and_exits_0_whatever_the_verdict(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "report", make_run(tmp_path, outcomes=BLOCK), "--format", format_)
    assert (ended.exit_code, ended.stderr) == (0, "")
    for text in ("BLOCK", "20/60", "60/60", "reserve-timeout"):
        assert text in ended.stdout


def test_report_writes_nothing_into_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in run.iterdir())
    assert call(capsys, "report", run, "--json").json["verdict"] == "INCONCLUSIVE"
    assert sorted((path.name, path.stat().st_mtime_ns) for path in run.iterdir()) == before


def test_show_tells_a_trial_for_people_and_for_machines(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, machine = call(capsys, "show", run, TRIAL), call(capsys, "show", run, TRIAL, "--json")
    assert TRIAL in people.stdout
    assert machine.json["record"]["trial_id"] == TRIAL
    assert [event["seq"] for event in machine.json["events"]] == list(range(len(machine.json["events"])))
    assert (people.exit_code, machine.exit_code) == (0, 0)


@pytest.mark.parametrize("command", ["show", "logs"])
def test_a_trial_that_there_is_not_is_named_with_how_ids_read(
    command: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, command, run, "reserve-timeout:7")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "'reserve-timeout:7'" in ended.stderr
    assert "Hint: " in ended.stderr


@pytest.mark.parametrize("args", [("gate",), ("report",), ("show", TRIAL), ("logs", TRIAL)])
@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_no_run_is_refused_by_name(
    args: tuple[str, ...], is_there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "something"
    if is_there:
        directory.mkdir()
    ended = call(capsys, args[0], directory, *args[1:])
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert str(directory) in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not is_there or not list(directory.iterdir())


def test_a_reader_that_goes_away_is_no_accident(tmp_path: Path) -> None:
    """As `arci report RUN | head -1` does, with more to say than a pipe holds."""
    run = make_run(tmp_path, outcomes=PASS)
    with subprocess.Popen(
        [sys.executable, "-m", "arci", "gate", str(run), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert b"Traceback" not in said
    assert b"Exception" not in said
    assert process.returncode != 0


def test_both_streams_of_a_guest_are_printed_apart(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[Finished] = [call(capsys, "logs", run, TRIAL, "--stream", stream) for stream in ("stdout", "stderr")]
    both = call(capsys, "logs", run, TRIAL)
    assert shown[0].stderr == ""
    assert shown[1].stdout == ""
    assert (both.stdout, both.stderr) == (shown[0].stdout, shown[1].stderr)
    assert both.stdout


def test_a_server_without_a_container_of_its_own_has_no_log(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "logs", run, TRIAL, "--role", "environment:shop")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "'environment:shop'" in ended.stderr
