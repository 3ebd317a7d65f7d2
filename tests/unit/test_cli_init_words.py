"""The parts of `arci init`: words of options, YAML that is read back as it was meant, imports that misbehave."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e import project, until
from hypothesis import example, given
from hypothesis import strategies as st

from arci.faults.registry import BUILTIN
from arci.manifest.strict_yaml import read_yaml
from arci.scaffold.answers import ArmPlan, FaultPlan, Plan
from arci.scaffold.flow import flow
from arci.scaffold.programs import Place, placed
from arci.scaffold.references import check_references
from arci.scaffold.words import parse_command, parse_fault, parse_snapshot, parse_task

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def plan(**parts: Any) -> Plan:
    nothing: dict[str, Any] = {
        "toolset": None,
        "server": None,
        "oracle": None,
        "grader": (),
        "faults": (),
        "task": {},
        "task_file": None,
    }
    return Plan(**{"experiment_id": "x", "arms": {}, "backend": "process", **nothing, **parts})


@given(VALUES)
@example({"a" * 1100: 1, "b": {"\u0301" * 300: []}})  # YAML looks for the colon behind a key in 1024 characters alone
def test_a_value_is_read_back_as_it_was_written(value: Any) -> None:
    node, notes = read_yaml(f"key: {flow(value)} # a comment\nnext: 1\n".encode())
    assert not notes
    assert node is not None
    assert node.plain() == {"key": value, "next": 1}


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "on",
        "1e3",
        "0x10",
        "2026-01-01",
        "null",
        "~",
        "a: b",
        "a #b",
        "- a",
        "{x}",
        "[",
        "*a",
        "&a",
        "!t",
        "",
    ],
)
def test_text_that_some_reader_takes_for_something_else_is_quoted(text: str) -> None:
    assert flow(text).startswith('"')
    assert yaml.safe_load(flow([text])) == [text]


@pytest.mark.parametrize("text", ["app:run", "charge", "data/state.json", "/app/server.py", "python3", "v1.2-rc"])
def test_text_that_means_itself_is_plain(text: str) -> None:
    assert flow(text) == text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("noop", FaultPlan("noop", None, None)),
        ("tool_timeout:pay", FaultPlan("tool_timeout", "pay", None)),
        ("tool_timeout:pay:3", FaultPlan("tool_timeout", "pay", 3)),
        ("latency:shop.pay:every", FaultPlan("latency", "shop.pay", "every")),
        ("latency:pay:2+", FaultPlan("latency", "pay", {"from": 2})),
        ("my.faults:odd", FaultPlan("my.faults:odd", None, None)),
        ("my.faults:odd:pay:0", FaultPlan("my.faults:odd", "pay", 0)),
    ],
)
def test_a_fault_is_name_tool_and_occurrence(text: str, fault: FaultPlan) -> None:
    assert parse_fault(text, BUILTIN) == fault


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("unheard", "no built-in fault"),
        ("tool_timout:pay:0", "'tool_timeout' is one"),
        ("noop:pay:-1", "'-1' is no occurrence"),
        ("noop:pay:1e3", "'1e3' is no occurrence"),
        ("noop:pay:\N{SUPERSCRIPT TWO}", "is no occurrence"),
        ("noop:pay:0:more", "NAME[:TOOL[:OCCURRENCE]]"),
        ("noop:", "NAME[:TOOL[:OCCURRENCE]]"),
        ("", "no built-in fault"),
    ],
)
def test_what_is_no_fault_is_told_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse_fault(text, BUILTIN)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_task, "{"),
        (parse_task, '"text"'),
        (parse_task, "@"),
        (parse_snapshot, "tool"),
        (parse_snapshot, "files:"),
        (parse_snapshot, "sql:x"),
        (parse_command, ""),
        (parse_command, "''"),
        (parse_command, 'a "b'),
    ],
)
def test_what_cannot_be_read_is_a_value_error(parse: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|required|quoted"):
        parse(text)


def test_a_command_is_split_as_a_shell_splits_it_and_nothing_is_expanded() -> None:
    assert parse_command("run 'a b' \"$HOME\" *.py c\\ d") == ("run", "a b", "$HOME", "*.py", "c d")


def test_only_words_that_are_files_of_the_project_are_placed(tmp_path: Path) -> None:
    project(tmp_path, {"agent.py": "", "bin/run": ""})
    argv = ("./bin/run", "agent.py", "agent", "-agent.py", "../x", "/etc/passwd", "bin", "a\0b")
    assert placed(argv, Place.AGENT, tmp_path) == ("{source}/bin/run", "{source}/agent.py", *argv[2:])
    assert placed(argv, Place.PROJECT, tmp_path) == argv


def test_an_import_that_hangs_is_given_up_with_everything_that_it_started(tmp_path: Path) -> None:
    source = """
        import pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        pathlib.Path("child").write_text(str(child.pid))
        time.sleep(3600)
    """
    project(tmp_path, {"hangs.py": source})
    problems, _ = check_references(plan(oracle="hangs:judge"), tmp_path, limit_s=10.0)
    assert [(p.path, "takes longer than 10 s" in p.message) for p in problems] == [("--oracle", True)]
    child = int((tmp_path / "child").read_text())
    until(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    """Not gone, and no zombie that nobody has waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_an_import_sees_nothing_of_the_caller_s_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"app.py": "import os\nassert 'ARCI_TEST_SECRET' not in os.environ\ndef run(a, b, c): pass\n"})
    monkeypatch.setenv("ARCI_TEST_SECRET", "x")
    assert check_references(plan(arms={"baseline": ArmPlan(ref="app:run")}), tmp_path) == ([], [])
    assert sorted(os.listdir(tmp_path)) == ["app.py"]  # noqa: PTH208  (no compiled file either)


@pytest.mark.parametrize(
    ("signature", "is_fine"),
    [("task, tools, rng", True), ("*args", True), ("task, tools, rng, more=1", True), ("task", False), ("*, a", False)],
)
def test_an_agent_must_take_what_it_is_called_with(signature: str, is_fine: bool, tmp_path: Path) -> None:
    project(tmp_path, {"app.py": f"def run({signature}): pass\n"})
    problems, _ = check_references(plan(arms={"candidate": ArmPlan(ref="app:run")}), tmp_path)
    assert [p.path for p in problems] == ([] if is_fine else ["--candidate"])


def test_code_that_lies_in_an_image_is_not_looked_for_here(tmp_path: Path) -> None:
    assert check_references(plan(arms={"candidate": ArmPlan(ref="app:run", image="agent:1")}), tmp_path) == ([], [])
