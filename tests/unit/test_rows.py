"""Every failure of other tools that we know of has a test here, or several, that show it to be none of ours.

Rows N1 to N55 and N73 to N78 are public reports on tools that run agents in containers, R1 to R4 were found by reading.
J and K stand beside the boundary's tests. In brackets: one case of a test whose cases are a table of ours.
"""

from __future__ import annotations

import ast
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
import rows_judging
import rows_running
from row_cases import CASES

TESTS = Path(__file__).parents[1]
NUMBERS = {*(f"N{n}" for n in chain(range(1, 56), range(73, 79))), *(f"R{n}" for n in range(1, 5))}
ROWS = [(row, tests) for part in (*rows_running.ROWS, *rows_judging.ROWS) for row, tests in part.items()]


@cache
def defined(path: str) -> frozenset[str]:
    """Names of the tests in a file below `tests`."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


def test_every_row_is_there_once() -> None:
    numbers = [row.partition(" ")[0] for row, _ in ROWS]
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == NUMBERS


@pytest.mark.parametrize(("row", "tests"), ROWS, ids=[row for row, _ in ROWS])
def test_every_test_of_a_row_is_there(row: str, tests: tuple[str, ...]) -> None:
    assert tests
    for named in tests:
        test, _, case = named.removesuffix("]").partition("[")
        path, _, name = test.partition("::")
        assert name in defined(path), named
        assert not case or case in CASES[test], named
