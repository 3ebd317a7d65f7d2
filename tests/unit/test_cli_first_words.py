"""What a command says before work is paid for: code that is not there, places, wrong files, unknown runs and trials."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e import Finished, call, descriptor, project
from runs import make_run

from arci.cli.options import NewDirectory
from arci.isolation.process.native import find_init

needs_init = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

SHOP = """
    class Shop:
        def __init__(self, task, seed):
            self.tools = {"charge": lambda: 1, "refund": lambda: 2}

        def snapshot(self):
            return {}

    def check(task, state):
        return True
"""
AGENT = "def run(task, tools, rng):\n    tools.call('charge')\n    return {}\n"
PLAIN = {
    "experiment_id": "plain",
    "task": {},
    "toolset": "shop:Shop",
    "oracle": "shop:check",
    "baseline": "agent:run",
    "candidate": "agent:run",
    "n_per_arm": 2,
}

Run = Callable[..., Finished]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`arci run` of a small project whose descriptor is changed."""

    def made(**changes: object) -> Finished:
        project(tmp_path, {"shop.py": SHOP, "agent.py": AGENT})
        path = descriptor(tmp_path, {**PLAIN, **changes})
        return call(capsys, "run", path, "--out", tmp_path / "out")

    return made


def last_line(ended: Finished, exit_code: int = 64) -> str:
    assert (ended.exit_code, ended.stdout) == (exit_code, "")
    return ended.stderr.splitlines()[-1]


# Code


@needs_init
@pytest.mark.parametrize(
    ("key", "reference", "names"),
    [
        ("toolset", "shpo:Shop", "toolset: no module 'shpo'"),
        ("oracle", "shpo:check", "oracle: shpo:check: import: no module 'shpo'"),
        ("candidate", "agnt:run", "candidate: agnt:run: cannot be imported: no module 'agnt'"),
    ],
)
def test_a_module_that_is_not_there_is_named_where_it_is_written_without_a_traceback(
    key: str, reference: str, names: str, tmp_path: Path, run: Run
) -> None:
    ended = run(**{key: reference})
    line = list(PLAIN).index(key) + 2
    meant = "agent" if key == "candidate" else "shop"
    assert last_line(ended).startswith(f"{tmp_path / 'arci.yaml'}:{line}: {names} (looked in {tmp_path}")
    assert last_line(ended).endswith(f"and among the installed packages). Did you mean '{meant}'?")
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()


@needs_init
def test_an_error_within_a_module_is_shown_from_that_module_on(tmp_path: Path, run: Run) -> None:
    project(tmp_path, {"broken.py": "import nothing_of_that_name\n"})
    ended = run(toolset="broken:Shop")
    assert ended.exit_code == 64
    assert f"{tmp_path / 'arci.yaml'}:4: toolset: ModuleNotFoundError: No module named" in ended.stderr
    assert [line for line in ended.stderr.splitlines() if line.startswith("  File ")] == [
        f'  File "{tmp_path / "broken.py"}", line 1, in <module>'
    ]


@needs_init
@pytest.mark.parametrize(
    ("source", "words"),
    [("def Shop(:\n", "SyntaxError"), ("x = 1\n", "has no attribute 'Shop'"), ("Shop = 5\n", "int is not callable")],
)
def test_what_the_module_is_not_is_said_without_frames_of_arci(
    source: str, words: str, tmp_path: Path, run: Run
) -> None:
    project(tmp_path, {"broken.py": source})
    ended = run(toolset="broken:Shop")
    assert ended.exit_code == 64
    assert words in ended.stderr
    assert "usercode.py" not in ended.stderr


@needs_init
def test_misspelt_tools_are_told_before_the_first_trial(tmp_path: Path, run: Run) -> None:
    ended = run(conditions=[{"id": "c", "fault": {"name": "tool_timeout", "tool": "charg"}}])
    assert "conditions[0].fault.tool: 'charg' is a tool that no server has; allowed: charge, refund." in last_line(
        ended
    )
    assert last_line(ended).endswith("Hint: did you mean 'charge'?")
    assert not (tmp_path / "out").exists()


@needs_init
def test_arms_that_are_the_same_are_told_and_change_no_verdict(tmp_path: Path, run: Run) -> None:
    ended = run()
    assert "arci: warning: both arms are the same " in ended.stderr
    kept = json.loads((tmp_path / "out" / "plain" / "run.json").read_bytes())["warnings"]
    assert any(warning.startswith("both arms are the same ") for warning in kept)
    assert ended.exit_code == 2


# Places and files


def test_a_place_that_cannot_hold_runs_is_refused_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    ended = call(capsys, "run", tmp_path / "nowhere.yaml", "--out", tmp_path / "file" / "runs")
    assert f"'{tmp_path}/file' is not a directory; one that is there, or none yet, is required." in last_line(ended)
    taken = call(capsys, "run", tmp_path / "nowhere.yaml", "--out", tmp_path / "file")
    assert taken.exit_code == 64


def test_a_read_only_place_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path and real(path, mode))
    for command in (("run", tmp_path / "a.yaml"), ("merge", tmp_path / "run"), ("demo",)):
        ended = call(capsys, *command, "--out", tmp_path / "new" / "runs")
        assert f"'{tmp_path}' cannot be written to; a directory that can is required." in last_line(ended)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "a" / "b"):
        assert NewDirectory().convert(str(place), None, None) == place
    assert NewDirectory().convert("runs", None, None) == Path("runs")


@pytest.mark.parametrize("name", ["run.json", "decision.json"])
def test_a_file_of_a_run_is_no_descriptor_and_that_is_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_run(tmp_path)
    call(capsys, "gate", store)
    ended = call(capsys, "run", store / name)
    assert last_line(ended).startswith(f"{store / name}: is no descriptor but ")
    assert f"Hint: arci gate {store} decides that run again" in last_line(ended)
    assert len(ended.stderr.splitlines()) == 1


def test_json_that_is_no_descriptor_at_all_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = descriptor(tmp_path, {f"zzz{number}": number for number in range(30)}, "package.json")
    ended = call(capsys, "run", path)
    assert last_line(ended).startswith(f"{path}: is no descriptor: none of its keys ('zzz0', 'zzz1', ")
    assert len(ended.stderr.splitlines()) == 1


# Runs and trials


def test_an_unknown_run_is_answered_with_the_runs_that_lie_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "runs")
    ended = call(capsys, "gate", tmp_path / "runs" / "sythetic")
    assert last_line(ended, 3).endswith(f"sythetic: no such directory. Hint: there are {tmp_path}/runs/synthetic")
    monkeypatch.chdir(tmp_path)
    assert last_line(call(capsys, "gate", "synthetic"), 3).endswith("Hint: there are runs/synthetic")
    lonely = call(capsys, "gate", tmp_path / "elsewhere" / "nope")
    assert lonely.stderr == f"arci: {tmp_path}/elsewhere/nope: no such directory\n"


def test_an_unknown_trial_is_answered_with_ids_of_that_run_the_nearest_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_run(tmp_path)
    ended = call(capsys, "show", store, "reserve-timeout:00003:candidat")
    hint = last_line(ended, 3).partition(". Hint: there are ")[2]
    assert hint.startswith("reserve-timeout:00003:candidate, reserve-timeout:00000:baseline, ")
    assert hint.endswith(" and 11 more")


def test_a_run_of_another_version_is_refused_for_that_before_its_sources_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_run(tmp_path)
    info = store / "run.json"
    info.write_bytes(info.read_bytes().replace(b"arci.run/1", b"arci.run/9"))
    ended = call(capsys, "rerun", store, "reserve-timeout:00000:candidate")
    assert last_line(ended, 3).startswith(f"arci: {store}/run.json: format: 'arci.run/9'; 'arci.run/1' is what ")
