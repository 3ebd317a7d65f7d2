"""The table of claims: whole, unambiguous, each with its program, and told on its page."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from docs_pages import page
from e2e import call, descriptor

from arci.containment import suite
from arci.containment.claim import Claim
from arci.containment.groups import GROUPS, Group, all_claims
from arci.containment.judge import Row
from arci.containment.table import render_page, render_rows
from arci.manifest.descriptor import load_descriptor

PROGRAMS = Path(suite.__file__).parent / "programs"
SHELL = next(group for group in GROUPS if group.name == "shell")
PYTHON = [claim for group in GROUPS if group is not SHELL for claim in group.claims]
WELL = Row("reach-ip", "reaches out", True, "FAIL", "completed", 1.25, (), ())
BROKEN = Row("sniff", "reads packets", False, "ERROR", "harness", 0.0, ("volume x",), ("left behind: volume x",))


def test_there_are_fifty_and_more_each_with_a_name_of_its_own() -> None:
    names = [claim.name for claim in all_claims()]
    assert len(names) == len(set(names)) >= 50
    assert len({claim.program for claim in all_claims()}) == len(names)


@pytest.mark.parametrize("claim", PYTHON, ids=lambda claim: claim.name)
def test_an_attack_is_a_function_that_is_there(claim: Claim) -> None:
    module, _, name = claim.program.partition(":")
    tree = ast.parse((PROGRAMS / "agents" / f"{module}.py").read_text(encoding="utf-8"), feature_version=(3, 9))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    assert [argument.arg for argument in function.args.args] == ["given", "tools"]


def test_an_attack_of_the_shell_is_a_case_of_its_script() -> None:
    text = (PROGRAMS / "shell" / "hostile.sh").read_text(encoding="utf-8")
    assert all(f"""*'"{claim.program}"'*)""" in text for claim in SHELL.claims)


def test_every_attack_that_there_is_has_a_claim() -> None:
    declared = {claim.program for claim in PYTHON}
    for path in (PROGRAMS / "agents").glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] == ["given", "tools"]:
                assert f"{path.stem}:{node.name}" in declared or node.name.startswith("_")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_groups_experiment_is_one_that_arci_takes(group: Group, tmp_path: Path) -> None:
    for name in ("agents", "world", "shell"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Dockerfile").touch()
    loaded = load_descriptor(descriptor(tmp_path, group.descriptor()))
    assert loaded.document["n_per_arm"] == len(loaded.document["tasks"]) == len(group.claims) + group.honest


def test_the_page_is_what_the_table_says() -> None:
    assert page("docs/reference/containment.md") == render_page(), "run: python scripts/generate_docs.py"


def test_the_table_tells_what_is_broken_and_why() -> None:
    assert render_rows([WELL]).splitlines()[-1] == "All 1 contained."
    text = render_rows([WELL, BROKEN])
    assert "left behind: volume x" in text
    assert text.splitlines()[-1] == "1 of 2 are not contained (exit 3)."
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("words", [("--isolation", "process"), ("--conformance",)])
def test_what_cannot_be_asked_for_is_a_usage_error(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "doctor", "--containment", *words)
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert "--containment" in ended.stderr
