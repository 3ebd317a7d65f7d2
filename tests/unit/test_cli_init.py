"""`arci init`: what it writes loads and means what was asked for; what is wrong is told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from docs_pages import files, page
from e2e import Finished, call, project

from arci.manifest.descriptor import Descriptor, load_descriptor

APP = """
    print("a module that prints while it is imported")

    def old(task, tools, rng):
        tools.call("add", by=task["by"])
        return {}

    new = old

    class World:
        def __init__(self, task, seed):
            self.sum, self.tools = 0, {"add": self.add}

        def add(self, by: int) -> int:
            self.sum += by
            return self.sum

        def snapshot(self):
            return {"sum": self.sum}

    def judge(task, final_state):
        return final_state["sum"] == task["by"]

    def judge_with_evidence(task, final_state, evidence):
        return True

    def takes_one(one):
        pass

    LIST = []
"""
PYTHON = {
    "--baseline": "app:old",
    "--candidate": "app:new",
    "--toolset": "app:World",
    "--oracle": "app:judge",
}
COMMAND = {
    "--command": "python3 agent.py 'two words'",
    "--mcp-server": "node server.js {workdir}",
    "--grader": "sh g.sh",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project(tmp_path, {"app.py": APP, "agent.py": "", "server.js": "", "task.json": '{"by": 4}'}))
    return tmp_path


def init(capsys: pytest.CaptureFixture[str], name: str, given: dict[str, str], *more: object) -> Finished:
    words = [word for option, value in given.items() for word in (option, value)]
    return call(capsys, "init", name, *words, *more)


def made(capsys: pytest.CaptureFixture[str], given: dict[str, str], *more: object) -> Descriptor:
    ended = init(capsys, "made", given, *more)
    assert ended.exit_code == 0, ended.stderr
    return load_descriptor("arci.yaml")


def test_python_agents_become_a_descriptor_of_a_smoke_design(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    descriptor = made(capsys, {**PYTHON, "--task": '{"by": 3, "words": "a: b, [c] # d", "no": "yes"}'})
    document = descriptor.document
    assert document["experiment_id"] == "made"
    assert document["tasks"][0]["task"] == {"by": 3, "words": "a: b, [c] # d", "no": "yes"}
    assert {name: arm["ref"] for name, arm in document["arms"].items()} == {
        "baseline": "app:old",
        "candidate": "app:new",
    }
    assert (document["environment"]["ref"], document["grader"]["ref"]) == ("app:World", "app:judge")
    assert (document["n_per_arm"], document["alpha"], document["delta"]) == (8, 0.05, 0.1)
    assert [condition["id"] for condition in document["conditions"]] == ["clean"]
    assert descriptor.backend == "process"


def test_each_fault_is_a_condition_of_its_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = ["tool_timeout:add:0", "latency", "lost_response:add:2+", "faults:odd:add:every", "lost_response:add:0"]
    descriptor = made(capsys, PYTHON, *(word for fault in faults for word in ("--fault", fault)))
    found = [(f["name"], f["tool"], f["occurrence"]) for c in descriptor.document["conditions"] for f in c["faults"]]
    assert found == [
        ("tool_timeout", "add", {"kind": "nth", "n": 0}),
        ("latency", None, {"kind": "nth", "n": 0}),
        ("lost_response", "add", {"kind": "from", "n": 2}),
        ("faults:odd", "add", {"kind": "every", "n": 0}),
        ("lost_response", "add", {"kind": "nth", "n": 0}),
    ]
    assert [condition["id"] for condition in descriptor.document["conditions"]] == [
        "tool-timeout-add",
        "latency",
        "lost-response-add",
        "faults-odd-add",
        "lost-response-add-2",
    ]


def test_a_task_may_stay_in_its_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert made(capsys, {**PYTHON, "--task": "@task.json"}).document["tasks"][0]["task"] == {"by": 4}


def test_docker_is_sealed_where_it_is_asked_for(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert made(capsys, PYTHON, "--docker").backend == "docker"


@pytest.mark.parametrize("more", [(), ("--docker",)])
def test_a_command_and_a_server_are_found_from_wherever_they_start(
    more: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = made(capsys, {**COMMAND, "--snapshot": "files:state.json,notes/*.md"}, *more).document
    assert [arm["argv"] for arm in document["arms"].values()] == [["python3", "{source}/agent.py", "two words"]] * 2
    (server,) = document["environment"]["servers"]
    assert server["argv"] == ["node", "{source}/server.js", "{workdir}"]
    assert list(server["snapshot"]["paths"]) == ["state.json", "notes/*.md"]
    assert document["grader"]["argv"] == ["sh", "g.sh"]


def test_images_run_in_containers_and_may_have_a_command_of_their_own(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {
        "--baseline-image": "agent:1",
        "--candidate-image": "agent:2",
        "--candidate-command": "/bin/agent --fast",
        "--mcp-server-image": "server:1",
        "--snapshot": "resource:state://all",
        "--oracle": "app:judge_with_evidence",
    }
    descriptor = made(capsys, given)
    assert descriptor.backend == "docker"
    assert [arm["argv"] for arm in descriptor.document["arms"].values()] == [[], ["/bin/agent", "--fast"]]
    (server,) = descriptor.document["environment"]["servers"]
    assert (server["argv"], server["has_image"], server["snapshot"]["uri"]) == ([], True, "state://all")


def test_a_descriptor_may_have_another_name_and_place(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(place / "below", {"app.py": APP})
    ended = init(capsys, "made", PYTHON, "--out", "below/smoke.yaml", "--json")
    assert ended.json == {"descriptor": "below/smoke.yaml", "files": ["below/smoke.yaml"], "warnings": []}
    assert load_descriptor("below/smoke.yaml").experiment_id == "made"


def test_everything_that_is_wrong_is_told_at_once_and_nothing_is_written(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {
        "--baseline": "nowhere:run",
        "--toolset": "app:takes_one",
        "--mcp-server": "unclosed '",
        "--snapshot": "disk:all",
        "--oracle": "no-colon",
        "--task": "[1]",
    }
    ended = init(capsys, "bad", given, "--fault", "tool_timeuot:add", "--fault", "noop:add:first", "--fault", "noop::1")
    assert (ended.exit_code, ended.stdout) == (64, "")
    lines = ended.stderr.splitlines()
    told = [
        ("--baseline", "No module named 'nowhere'"),
        ("--candidate", "is missing"),
        ("--toolset", "is called with 2 arguments"),
        ("--toolset", "--mcp-server are both given"),
        ("--mcp-server", "No closing quotation"),
        ("--snapshot", "'disk:all'; tool:NAME"),
        ("--oracle", "'no-colon' is no reference"),
        ("--task", "is not an object"),
        ("--fault", "'tool_timeout' is one"),
        ("--fault", "'first' is no occurrence"),
        ("--fault", "'noop::1'"),
    ]
    for option, text in told:
        assert [line for line in lines if line.startswith(f"arci init: {option}: ") and text in line], text
    assert len(lines) == len(told)
    assert not Path("arci.yaml").exists()


def test_what_would_be_of_no_use_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = {"--image": "a:1", "--baseline-image": "a:2", "--candidate-image": "a:3"}
    ended = init(capsys, "made", {**PYTHON, **images, "--command": "run", "--baseline-command": "run"})
    assert ended.exit_code == 64
    for option in ("--command", "--image", "--baseline"):
        assert f"arci init: {option}: " in ended.stderr


@pytest.mark.parametrize("name", ["../escape", "", "a b", ".hidden"])
def test_a_name_that_is_no_safe_file_name_is_refused(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(place.iterdir())
    for given in ({}, PYTHON):
        ended = init(capsys, name, given)
        assert ended.exit_code == 64
        assert "arci init: experiment_id: " in ended.stderr
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
        ("raise ValueError('broken')", "its import raises ValueError: broken"),
        ("x = (", "its import raises SyntaxError"),
        ("import sys; sys.exit(3)", "its import raises SystemExit: 3"),
        ("import os; print('last words', flush=True); os._exit(7)", "its import ends the interpreter (7): last words"),
        ("run = 3", "is int, not a function"),
        ("walk = print", "agent has no run"),
    ],
)
def test_a_reference_that_cannot_be_used_is_told_with_the_reason(
    source: str, said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(place, {"agent.py": source + "\n"})
    ended = init(capsys, "made", {**PYTHON, "--candidate": "agent:run"})
    assert ended.exit_code == 64
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("arci init:")]
    assert line.startswith("arci init: --candidate: agent:run: ")
    assert said in line
    assert not Path("arci.yaml").exists()


def test_what_only_the_image_has_is_a_warning_with_docker_and_refused_without(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(place, {"agent.py": "import some_framework\n"})
    given = {**PYTHON, "--candidate": "agent:run"}
    refused, warned = init(capsys, "made", given), init(capsys, "made", given, "--docker")
    assert (refused.exit_code, warned.exit_code) == (64, 0)
    assert "--docker" in refused.stderr
    assert "warning: --candidate agent:run: some_framework is not installed here" in warned.stderr


@pytest.mark.parametrize("given", [{}, PYTHON])
def test_what_is_there_stays_unless_force_is_said(
    given: dict[str, str], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("arci.yaml") if given else Path("made/arci.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine\n")
    before = sorted(str(p) for p in place.rglob("*"))
    ended = init(capsys, "made", given)
    assert (ended.exit_code, ended.stdout, path.read_text()) == (64, "", "mine\n")
    assert str(path) in ended.stderr
    assert "--force" in ended.stderr
    assert sorted(str(p) for p in place.rglob("*")) == before
    assert init(capsys, "made", given, "--force").exit_code == 0
    assert load_descriptor(path).experiment_id == "made"


def test_a_file_that_cannot_be_written_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    ended = init(capsys, "made", {}, "--out", "file/below")
    assert ended.exit_code == 64
    assert "file/below" in ended.stderr


def test_a_name_alone_is_the_experiment_of_the_first_page(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = init(capsys, "pay-order", {})
    assert (ended.exit_code, ended.stderr) == (0, "")
    shown = files(page("docs/how-to/first-experiment.md"))
    written = {str(p.relative_to("pay-order")): p.read_text() for p in Path("pay-order").rglob("*") if p.is_file()}
    assert written == shown
    assert load_descriptor("pay-order/arci.yaml").backend == "process"


def test_a_name_alone_with_docker_is_the_same_in_containers(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init(capsys, "made", {}, "--docker")
    descriptor = load_descriptor("made/arci.yaml")
    assert (descriptor.experiment_id, descriptor.backend, descriptor.warnings) == ("made", "docker", ())


def test_the_next_steps_that_are_printed_are_commands_on_what_was_written(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[Any] = init(capsys, "made", {}).stdout.split()
    for name in ("tools", "try", "run"):
        assert said[said.index(name) - 1] == "arci"
        assert said[said.index(name) + 1] == "made/arci.yaml"
