"""`arci bundle` and `arci replay` with local processes: agents that speak MCP, and what is said of a wrong call."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e import Finished, call, records
from notes import notes_experiment

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

TRIAL = "clean:00000:candidate"


@pytest.fixture(autouse=True)
def key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of their own: the key that bundles are signed with."""
    home = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    return home


def well(ended: Finished) -> Finished:
    assert ended.exit_code == 0, ended
    return ended


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "RUN: is missing; a run's directory, or a file that arci minimize wrote, is required."),
        (("missing.json",), "--out: is missing; the file to write is required."),
        (
            ("missing.json", "--out", "x.arci"),
            "RUN: missing.json is not there; the directory of a run (with TRIAL), or",
        ),
        (("missing", TRIAL, "--out", "x.arci"), "RUN: missing is not there; the directory of a run (with TRIAL), or"),
        (
            (".", "--out", "x.arci"),
            "TRIAL: is missing; a trial of the run, such as clean:00012:candidate, is required.",
        ),
        (
            ("{}", "--out", "x.arci"),
            "RUN: {} is neither a run's directory nor what arci minimize wrote; one of them is",
        ),
    ],
)
def test_a_bundle_needs_a_run_a_trial_and_a_file(
    words: tuple[str, ...],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "{}").write_text("{}")
    refused = call(capsys, "bundle", *words)
    assert (refused.exit_code, told in refused.stderr) == (64, True), refused.stderr
    assert not (tmp_path / "x.arci").exists()


@pytest.mark.parametrize("words", [("replay",), ("bundle", "--list")])
def test_a_bundle_that_is_not_there_is_told_with_what_is_required(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, *words, tmp_path / "missing.arci")
    told = "missing.arci: No such file or directory; the file that arci bundle wrote is required."
    assert (ended.exit_code, told in ended.stdout + ended.stderr) == (3, True)


@pytest.mark.parametrize("way", ["add", "leave-with-3", "by-http", "reconnect"])
def test_a_command_that_speaks_mcp_is_replayed_without_its_server(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = notes_experiment(tmp_path, "process", (way,))
    ended = call(capsys, "run", path, "--out", tmp_path / "runs", "--json")
    out = tmp_path / "notes.arci"
    well(call(capsys, "bundle", ended.run, "clean:00000:candidate", "--out", out))
    (tmp_path / "notes_server.py").write_text("raise SystemExit('the server must not run')\n")
    told = well(call(capsys, "replay", out, "--json")).json
    assert (told["verdict"], told["same_trace"]) == ("REPRODUCED", True)


@pytest.mark.parametrize(("way", "code"), [("listen", 43), ("listen-by-http", 50)])
def test_what_a_server_told_during_a_call_is_told_again(
    way: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "run", notes_experiment(tmp_path, "process", (way,)), "--out", tmp_path / "runs", "--json")
    trial, out = "clean:00000:candidate", tmp_path / "notes.arci"
    recorded = records(ended.run)[trial]
    assert (recorded["agent"]["exit_code"], recorded["usage"]["notifications"]) == (code, 1)
    well(call(capsys, "bundle", ended.run, trial, "--out", out))
    (tmp_path / "notes_server.py").write_text("raise SystemExit('the server must not run')\n")
    told = well(call(capsys, "replay", out, "--json")).json
    assert (told["verdict"], told["same_trace"]) == ("REPRODUCED", True), told
