"""Problems that preflight found, with the lines of the descriptor that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from arci.errors import Problem
from arci.manifest.located import located

LONG = """\
experiment_id: x
toolset: world:make
contract:
  oracle: judge:check
baseline:
  agent: a:run
candidate: {label: b, command: {argv: [b]}}
conditions:
- id: c
  faults:
  - {name: noop}
  - name: noop
    tool: charge
"""
SHORT = (
    "experiment_id: x\ntoolset: w:make\noracle: j:check\nbaseline: a:run\nconditions:\n- id: c\n  fault: {tool: t}\n"
)


def place(tmp_path: Path, text: str, path: str) -> tuple[str, str]:
    file = tmp_path / "arci.yaml"
    file.write_text(text, encoding="utf-8")
    (problem,) = located([Problem(str(file), path, "is wrong.", "mend it")], str(file), "x")
    assert (problem.message, problem.hint) == ("is wrong.", "mend it")
    return problem.where.removeprefix(str(file)), problem.path


@pytest.mark.parametrize(
    ("text", "path", "where"),
    [
        (LONG, "conditions[0].faults[1].tool", (":13", "conditions[0].faults[1].tool")),
        (LONG, "conditions[0].faults[0].tool", (":11", "conditions[0].faults[0].tool")),
        (LONG, "contract.oracle", (":4", "contract.oracle")),
        (LONG, "baseline.agent", (":6", "baseline.agent")),
        (LONG, "candidate.command", (":7", "candidate.command")),
        (LONG, "environment", (":2", "toolset")),
        (LONG, "mcp_servers.notes.argv", (":1", "mcp_servers.notes.argv")),
        (SHORT, "conditions[0].faults[0].tool", (":7", "conditions[0].fault.tool")),
        (SHORT, "conditions[7].faults[0].tool", (":5", "conditions[7].faults[0].tool")),
        (SHORT, "contract.oracle", (":3", "oracle")),
        (SHORT, "baseline.agent", (":4", "baseline")),
    ],
)
def test_a_problem_gets_the_line_and_the_path_as_it_was_written(
    text: str, path: str, where: tuple[str, str], tmp_path: Path
) -> None:
    assert place(tmp_path, text, path) == where


@pytest.mark.parametrize("text", ["experiment_id: another\ntoolset: a:b\n", "- 1\n", "a: [1\n", ""])
def test_what_is_not_the_descriptor_any_more_gives_no_lines(text: str, tmp_path: Path) -> None:
    assert place(tmp_path, text, "toolset") == ("", "toolset")


def test_a_descriptor_that_is_gone_and_a_problem_of_another_file_are_left_as_they_are(tmp_path: Path) -> None:
    gone = Problem(str(tmp_path / "gone.yaml"), "toolset", "is wrong.")
    assert located([gone], gone.where, "x") == [gone]
    other = Problem("tasks.jsonl:3", "", "is wrong.")
    (tmp_path / "arci.yaml").write_text(LONG)
    assert located([other], str(tmp_path / "arci.yaml"), "x") == [other]
