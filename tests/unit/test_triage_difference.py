"""What exactly differs in two steps, and steps in words."""

from __future__ import annotations

from typing import Any

import pytest

from arci.diagnose.diff import compare
from arci.diagnose.difference import ABSENT, first_difference
from arci.report.diff import side_by_side
from arci.report.diff_words import difference_at, parting_words, step_words


def _step(value: Any, kind: str = "tool_finish", tool: str = "get") -> dict[str, Any]:
    return {"kind": kind, "tool": tool, "occurrence": 0, "ok": True, "value": value, "error_kind": None}


@pytest.mark.parametrize("others", [(1, True), (1, 1.0), (0, False), (0.0, -0.0), ([1], [True]), ("1", 1)])
def test_what_python_calls_equal_and_an_agent_does_not_is_a_difference(others: tuple[Any, Any]) -> None:
    a, b = ([_step(value)] for value in others)
    found = compare("a", a, "b", b)
    assert found.index == 0
    assert difference_at(found) is not None


@pytest.mark.parametrize(
    ("a", "b", "path", "shown"),
    [
        ({"x": 1, "y": 2}, {"x": 1, "y": 3}, "y", ("2", "3")),
        ({"x": {"y": [1, {"z": "p"}]}}, {"x": {"y": [1, {"z": "q"}]}}, "x.y[1].z", ('"p"', '"q"')),
        ({"x": 1}, {}, "x", ("1", ABSENT)),
        ({}, {"x": None}, "x", (ABSENT, "null")),
        ([1, 2], [1], "[1]", ("2", ABSENT)),
        ([[1]], [[2]], "[0][0]", ("1", "2")),
        ({"x": [1]}, {"x": {"y": 1}}, "x", ("[1]", '{"y":1}')),
        (1, "1", "", ("1", '"1"')),
    ],
)
def test_the_first_place_that_differs_is_named(a: Any, b: Any, path: str, shown: tuple[str, str]) -> None:
    found = first_difference(a, b)
    assert found is not None
    assert (found.path, (found.a, found.b)) == (path, shown)


def test_equal_values_have_no_difference() -> None:
    assert first_difference({"x": [1, {"y": None}]}, {"x": [1, {"y": None}]}) is None


def test_long_texts_are_cut_around_where_they_part() -> None:
    found = first_difference("x" * 100_000 + "left" + "y" * 1000, "x" * 100_000 + "right")
    assert found is not None
    assert "left" in found.a
    assert "right" in found.b
    assert max(len(found.a), len(found.b)) < 200
    assert found.a.startswith("...")
    assert found.a.endswith("...")


def test_a_difference_far_down_is_shown_from_the_last_level_that_is_walked() -> None:
    def nested(end: int) -> Any:
        value: Any = end
        for _ in range(300):
            value = [value]
        return value

    found = first_difference(nested(1), nested(2))
    assert found is not None
    assert found.path == "[0]" * 12


def test_steps_of_another_kind_or_tool_are_not_compared_by_their_fields() -> None:
    for other in (_step(1, tool="put"), _step(1, kind="model_step")):
        assert difference_at(compare("a", [_step(1)], "b", [other])) is None


def test_where_they_part_is_a_sentence() -> None:
    steps = [_step(1), _step(2)]
    assert parting_words(compare("a", steps, "b", steps)) == "The traces are the same: 2 comparable steps."
    assert parting_words(compare("a", steps, "b", [_step(1), _step(3)])) == "They part at step 2."
    assert parting_words(compare("a", steps[:1], "b", steps)) == "They part at step 2: a has ended, b goes on."
    assert parting_words(compare("a", steps, "b", [])) == "They part at step 1: b has ended, a goes on."


def test_what_made_a_long_answer_is_told_within_the_width() -> None:
    words = step_words({**_step("x" * 500), "injected_by": "latency"})
    assert len(words.rest(80)) == 80
    assert words.rest(80).endswith("xxx ..., injected by latency")
    assert step_words(_step("x" * 500)).rest(80) == words.rest().removesuffix(words.tail)


@pytest.mark.parametrize("value", ["x" * 500, "word " * 100, "\u6f22" * 200, 40])
def test_side_by_side_an_answer_says_what_made_it(value: Any) -> None:
    late = {**_step(value), "injected_by": "latency"}
    _, *lines = side_by_side(compare("a", [late], "b", [late]))
    assert len(lines) <= 2
    left = " ".join(line[7:].split(" | ")[0].strip() for line in lines)
    assert left.endswith(", injected by latency")
    assert "... injected" not in left


@pytest.mark.parametrize(
    ("step", "line", "is_injected"),
    [
        ({"kind": "tool_start", "tool": "t", "occurrence": 1, "arguments": {"a": 1}}, 'call t[1] {"a": 1}', False),
        (_step(None), "answer get[0] ok null", False),
        (
            {**_step("late"), "ok": False, "error_kind": "timeout", "injected_by": "f"},
            'answer get[0] failed: timeout "late", injected by f',
            True,
        ),
        ({**_step(40), "injected_by": "latency"}, "answer get[0] ok 40, injected by latency", True),
        ({"kind": "model_step", "summary": "thinks", "facts": {}}, "model thinks", False),
        ({"kind": "model_step", "summary": "thinks", "facts": {"n": 1}}, 'model thinks {"n": 1}', False),
        ({"kind": "injection", "fault": "f", "tool": "t", "occurrence": 2}, "injection f on t[2]", True),
        ({"kind": "violation", "invariant": "i", "tool": "t"}, "violation i by t", False),
        ({"kind": "relay", "server": "s", "method": "m", "params": {}, "ok": False}, "relay s m failed {}", False),
        (
            {"kind": "model_start", "upstream": "m", "occurrence": 0, "model": "big", "messages_sha256": "ab" * 32},
            "ask m[0] big messages abababababab",
            False,
        ),
        (
            {"kind": "model_finish", "upstream": "m", "occurrence": 0, "ok": True, "text": "hi", "tool_calls": [1]},
            'reply m[0] ok "hi" [1]',
            False,
        ),
        (
            {"kind": "model_finish", "upstream": "m", "occurrence": 0, "error_kind": "timeout", "injected_by": "slow"},
            "reply m[0] failed: timeout, injected by slow",
            True,
        ),
        ({"kind": "agent_result", "claim": {"done": True}}, 'claim {"done": true}', False),
        ({"kind": "trial_end", "ending": "crash"}, "end crash", False),
        ({"kind": "decision_start", "x": 1}, 'decision_start {"x": 1}', False),
        ({"kind": 7}, "7 {}", False),
    ],
)
def test_every_kind_of_step_is_told(step: dict[str, Any], line: str, is_injected: bool) -> None:
    words = step_words(step)
    assert (words.line, words.is_injected) == (line, is_injected)
