"""The pages on engines and on trust against what they speak of: gaps, checks, tests. No engine is needed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from gaps import GAPS

from arci.isolation.conformance.suite import CHECKS

ROOT = Path(__file__).parents[2]
TRUST = (ROOT / "docs" / "explanation" / "trust-model.md").read_text(encoding="utf-8")
ENGINES = (ROOT / "docs" / "reference" / "engines.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TRUST)


def test_the_gaps_of_every_engine_are_listed_with_their_reason_and_no_others() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", ENGINES, re.MULTILINE)
    assert sorted(listed) == sorted((check, name, why) for name, gaps in GAPS.items() for check, why in gaps.items())


def test_every_gap_is_one_of_the_checks() -> None:
    assert {check for gaps in GAPS.values() for check in gaps} <= {check.name for check in CHECKS}


@pytest.mark.parametrize(("path", "name"), SHOWN, ids=[name for _, name in SHOWN])
def test_a_test_that_the_trust_model_names_is_there(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_a_check_that_the_trust_model_names_is_one() -> None:
    named = set(re.findall(r"`check (\w+)`", TRUST)) - {"NAME"}
    assert named
    assert named <= {check.name for check in CHECKS}


def test_every_promise_of_the_trust_model_has_something_that_shows_it() -> None:
    rows = [row for row in TRUST.splitlines() if row.startswith("| ") and not row.startswith("| what |")]
    assert len(rows) > 20
    assert not [row for row in rows if not re.search(r"`check \w+`|`tests/", row)]
