"""Fingerprints: equal for the same failure on another back end, different for another failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arci.isolation.base import Exit
from arci.run.classify import classify
from arci.run.facts import Failure, Grade, InitReport, TrialFacts
from arci.run.fingerprint import bad_tool, normalise, telling_line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cannot open /tmp/arci-1/work/a.txt", "cannot open /work/a.txt"),
        ("no file src/app/main.py", "no file ./main/app.py"),
        (r"cannot open C:\work\a.txt", r"cannot open D:\other\b.txt"),
        ("object at 0x7f3a9c", "object at 0xDEAD01"),
        ("trial 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "trial 6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("commit 0123456789abcdef", "commit fedcba9876543210"),
        ("took 1.25 s of 30", "took 9 s of 30.5"),
        ("order-7 is gone", "order-12 is gone"),
        ("\n\n  first\nsecond 1", "first"),
    ],
)
def test_what_differs_between_machines_is_replaced(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


def test_different_words_stay_different() -> None:
    assert normalise("no such order") != normalise("no such item")
    assert normalise("deadbeef is a word of letters alone") == "deadbeef is a word of letters alone"


def test_the_telling_line_is_the_last_of_a_traceback_else_the_first() -> None:
    assert (
        telling_line("warming up\nTraceback (most recent call last):\n  File x\nValueError: no\n") == "ValueError: no"
    )
    assert telling_line("\nfatal: no\nmore\n") == "fatal: no"
    assert telling_line("  \n") == ""


def _crash(code: int | None = 1, signal: int | None = None, message: str = "no") -> str | None:
    facts = TrialFacts(
        arm_kind="python",
        init=InitReport(started=True, code=code, signal=signal, oom_kills=0),
        exit=Exit(code if signal is None else 128 + signal, signal),
        failure=Failure("ValueError", message),
    )
    return classify(facts).fingerprint


def test_crashes_with_different_codes_signals_or_messages_are_different() -> None:
    assert len({_crash(1), _crash(2), _crash(None, 11), _crash(1, message="yes")}) == 4
    assert _crash(1, message="in /a/b at 3") == _crash(1, message="in /c at 4")


FINISHES = [
    {"kind": "tool_start", "tool": "reserve", "occurrence": 0},
    {"kind": "tool_finish", "tool": "get_stock", "ok": True, "error_kind": None, "injected_by": None},
    {"kind": "tool_finish", "tool": "get_stock", "ok": True, "error_kind": None, "injected_by": "latency"},
    {"kind": "tool_finish", "tool": "reserve", "ok": False, "error_kind": "timeout", "injected_by": "tool_timeout"},
]


def test_the_first_failed_tool_names_a_refused_trial_before_a_merely_disturbed_one() -> None:
    assert bad_tool(FINISHES) == "reserve timeout tool_timeout"
    assert bad_tool(FINISHES[:3]) == "get_stock latency"
    assert bad_tool(FINISHES[:2]) is None


def test_a_refused_trial_is_named_by_its_tool_or_as_the_oracles() -> None:
    facts = TrialFacts(
        arm_kind="command", init=InitReport(started=True, code=0), exit=Exit(0), grade=Grade(False), bad_tool=None
    )
    assert classify(facts).fingerprint == "oracle"
    assert classify(replace(facts, bad_tool="reserve timeout")).fingerprint == "oracle|reserve timeout"
