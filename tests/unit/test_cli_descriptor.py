"""`arci run` and `arci seal` before the first trial: what they refuse, and that nothing was made then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e import EXAMPLES, call, descriptor, project, records

from arci.isolation.process.native import find_init

SEVEN_MISTAKES = {
    "experiment_id": "../escape",
    "task": {},
    "toolset": "world:open_world",
    "oracle": "no-colon",
    "baseline": "agent:run",
    "candidate": {"label": "without a command"},
    "conditions": [{"id": "c", "fault": {"name": "tool_timeuot", "tool": "reserve"}}],
    "alpha": "0.05",
    "delta": 2,
    "dela": 0.1,
}
PATHS = ("experiment_id", "oracle", "candidate.agent", "conditions[0].fault.name", "alpha", "delta", "dela")
RETRY = EXAMPLES / "retry_agent" / "a-vs-b.yaml"

needs_init = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")


@pytest.mark.parametrize("command", ["run", "seal"])
def test_seven_mistakes_are_seven_lines_on_stderr_and_nothing_is_made(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = descriptor(tmp_path, SEVEN_MISTAKES)
    ended = call(capsys, command, path, "--out", tmp_path / "out", "--isolation", "process")
    assert (ended.exit_code, ended.stdout) == (64, "")
    lines = ended.stderr.splitlines()
    assert len(lines) == len(PATHS)
    for where in PATHS:
        assert [line for line in lines if line.startswith(f"{path}:") and f" {where}: " in line], where
    assert [entry.name for entry in tmp_path.iterdir()] == ["arci.yaml"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("missing.yaml", None),
        ("empty.yaml", b""),
        ("list.yaml", b"- 1\n"),
        ("broken.yaml", b"a: [1\n"),
        ("b.yaml", b"\xff"),
    ],
)
def test_what_is_no_descriptor_is_refused_by_name(
    name: str, data: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    ended = call(capsys, "run", tmp_path / name, "--out", tmp_path / "out")
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert name in ended.stderr
    assert not (tmp_path / "out").exists()


def test_the_directory_of_a_descriptor_is_answered_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = descriptor(tmp_path, {})
    ended = call(capsys, "run", tmp_path)
    assert ended.exit_code == 64
    assert str(path) in ended.stderr


@needs_init
def test_code_that_cannot_be_imported_is_the_descriptor_s_fault_and_nothing_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, {"world.py": "import nothing_of_that_name\n"})
    path = descriptor(
        tmp_path,
        {
            "experiment_id": "unimportable",
            "task": {},
            "toolset": "world:open_world",
            "oracle": "world:oracle",
            "baseline": "agent:run",
            "candidate": "agent:run",
        },
    )
    ended = call(capsys, "run", path, "--out", tmp_path / "out")
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert "nothing_of_that_name" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_sealing_prints_the_digest_of_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "seal", RETRY, "--out", tmp_path / "sealed.json", "--json")
    assert ended.exit_code == 0
    sealed = json.loads((tmp_path / "sealed.json").read_bytes())
    assert ended.json == {"file": str(tmp_path / "sealed.json"), "manifest_sha256": sealed["record_sha256"]}


def test_sealing_twice_gives_the_same_digest_and_another_rule_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed = [
        call(capsys, "seal", RETRY, *trials, "--out", tmp_path / "sealed.json", "--json").json["manifest_sha256"]
        for trials in ((), (), ("--n", 50))
    ]
    assert sealed[0] == sealed[1] != sealed[2]


@needs_init
def test_a_sealed_manifest_runs_as_its_descriptor_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = ("--n", 3, "--isolation", "process")
    sealed = tmp_path / "sealed.json"
    digest = call(capsys, "seal", RETRY, *trials, "--out", sealed, "--json").json["manifest_sha256"]
    runs = [
        call(capsys, "run", *what, "--out", tmp_path / name, "--json").json
        for name, what in (("one", (sealed,)), ("two", (RETRY, *trials)))
    ]
    assert [run["manifest_sha256"] for run in runs] == [digest, digest]
    traces = [{key: r["trace_sha256"] for key, r in records(Path(run["run"])).items()} for run in runs]
    assert traces[0] == traces[1]


def test_a_sealed_manifest_takes_no_other_size_or_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sealed = tmp_path / "sealed.json"
    call(capsys, "seal", RETRY, "--out", sealed)
    for option in (("--n", 3), ("--isolation", "docker")):
        ended = call(capsys, "run", sealed, *option, "--out", tmp_path / "out")
        assert (ended.exit_code, ended.stdout) == (64, "")
        assert "--isolation and --n" in ended.stderr


def test_a_manifest_that_was_changed_after_sealing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed = tmp_path / "sealed.json"
    call(capsys, "seal", RETRY, "--out", sealed)
    sealed.write_text(sealed.read_text().replace('"delta":0.1', '"delta":0.3'))
    ended = call(capsys, "run", sealed, "--out", tmp_path / "out")
    assert ended.exit_code in (3, 64)
    assert str(sealed) in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_second_run_of_an_id_is_refused_with_the_choices_and_nothing_is_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "retry-a-vs-b"
    there.mkdir()
    (there / "manifest.json").write_text("{}")
    ended = call(capsys, "run", RETRY, "--isolation", "process", "--out", tmp_path)
    assert (ended.exit_code, ended.stdout) == (64, "")
    for text in (str(there), "--resume", "--force", "another experiment_id"):
        assert text in ended.stderr
    assert [path.name for path in there.iterdir()] == ["manifest.json"]


@needs_init
def test_force_keeps_the_old_run_beside_the_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (
        call(capsys, "run", RETRY, "--isolation", "process", "--n", 1, "--out", tmp_path, "--json", *force).json
        for force in ((), ("--force",))
    )
    kept = json.loads((tmp_path / "retry-a-vs-b.1" / "decision.json").read_bytes())
    assert kept["trials_sha256"] == first["trials_sha256"]
    assert second["run"] == str(tmp_path / "retry-a-vs-b")
    assert second["prior_runs"]


@needs_init
def test_the_result_has_stdout_alone_and_progress_goes_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "run", RETRY, "--isolation", "process", "--n", 1, "--out", tmp_path, "--json")
    assert ended.exit_code == ended.json["exit_code"]
    assert "2 of 2 trials" in ended.stderr
    for interim in ("PASS", "FAIL", "0.", "%"):
        assert interim not in ended.stderr.partition("trials\n")[2]


@needs_init
def test_an_inconclusive_run_may_be_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES / "retry_agent" / "a-vs-c.yaml"
    options = ("--isolation", "process", "--n", 8, "--out", tmp_path, "--allow-inconclusive", "--json")
    ended = call(capsys, "run", example, *options)
    assert (ended.exit_code, ended.json["verdict"], ended.json["exit_code"]) == (0, "INCONCLUSIVE", 2)
