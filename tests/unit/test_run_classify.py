"""`classify` by the table of the specification, then over the product of all kinds of facts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from arci.isolation.base import Exit
from arci.model.trial import Blame, Ending, Outcome
from arci.run.classify import classify, needs_grade
from arci.run.facts import Failure, Grade, InitReport, TrialFacts, Trouble

WELL = TrialFacts(
    arm_kind="python",
    init=InitReport(started=True, code=0, oom_kills=0),
    exit=Exit(0),
    has_answer=True,
    grade=Grade(True),
)
SHELL = replace(WELL, arm_kind="command", has_answer=False, infra_exit_codes=(75,))


def ended(facts: TrialFacts, code: int | None = None, signal: int | None = None, **report: Any) -> TrialFacts:
    """`facts` with an agent that ended so, and an engine that says the same."""
    init = InitReport(**{"started": True, "code": code, "signal": signal, "oom_kills": 0, **report})
    return replace(facts, init=init, exit=Exit(code if signal is None else 128 + signal, signal), grade=None)


def lost(end: Exit, **facts: Any) -> TrialFacts:
    """The agent started, and nothing but the engine tells how it ended."""
    return replace(WELL, init=InitReport(started=True, is_lost=True), exit=end, grade=None, **facts)


FIRST = Trouble(Blame.ENVIRONMENT, "the world broke", came_first=True)
LATER = Trouble(Blame.HARNESS, "no snapshot", came_first=False)
KILLED = Trouble(
    Blame.ENVIRONMENT, "files ended", came_first=True, server="files", during_call=True, how="exit status 3"
)
FRAGILE = replace(SHELL, troubles=(KILLED,), grade=None)
"""A call of the agent killed a server that may be killed without blame, unless `may_not_crash` names it."""
FORBIDDEN = ({"invariant": "forbidden_tools", "tool": "drop", "detail": "tool 'drop' is forbidden"},)

CASES: dict[str, tuple[TrialFacts, str]] = {
    "a call killed a server": (FRAGILE, "ERROR environment environment"),
    "a call killed a server that no call may kill": (
        replace(FRAGILE, may_not_crash=frozenset({"files"})),
        "FAIL environment agent",
    ),
    "the server of another name may not crash": (
        replace(FRAGILE, may_not_crash=frozenset({"notes"})),
        "ERROR environment environment",
    ),
    "a server that may not crash died between calls": (
        replace(FRAGILE, troubles=(replace(KILLED, during_call=False),), may_not_crash=frozenset({"files"})),
        "ERROR environment environment",
    ),
    "the last call of an agent that had ended killed the server": (
        replace(FRAGILE, troubles=(replace(KILLED, came_first=False),), may_not_crash=frozenset({"files"})),
        "FAIL environment agent",
    ),
    "a budget was reached before the server died of the call": (
        replace(
            FRAGILE,
            latched="max_tool_calls",
            troubles=(replace(KILLED, came_first=False),),
            may_not_crash=frozenset({"files"}),
        ),
        "FAIL budget agent",
    ),
    "trouble of ours came before the server died of a call": (
        replace(
            FRAGILE,
            troubles=(Trouble(Blame.HARNESS, "broken", came_first=True), KILLED),
            may_not_crash=frozenset({"files"}),
        ),
        "ERROR harness harness",
    ),
    "success": (WELL, "PASS completed None"),
    "success of a command": (SHELL, "PASS completed None"),
    "refused by the oracle": (replace(WELL, grade=Grade(False)), "FAIL completed agent"),
    "refused by the oracle after an out-of-memory event": (
        replace(WELL, init=replace(WELL.init, oom_kills=1), grade=Grade(False)),
        "FAIL completed agent",
    ),
    "a child was killed for memory, the agent went on": (
        replace(WELL, init=replace(WELL.init, oom_kills=1)),
        "PASS completed None",
    ),
    "exit 1": (ended(WELL, 1), "FAIL crash agent"),
    "75 of a Python agent": (ended(WELL, 75), "FAIL crash agent"),
    "75 of a command": (ended(SHELL, 75), "ERROR harness machine"),
    "137 by choice": (ended(SHELL, 137), "FAIL crash agent"),
    "139 by choice": (ended(SHELL, 139), "FAIL crash agent"),
    "125 by choice": (ended(SHELL, 125), "FAIL crash agent"),
    "a shell whose child was killed for memory": (ended(SHELL, 137, oom_kills=1), "FAIL oom agent"),
    "a segmentation fault": (ended(WELL, signal=11), "FAIL crash agent"),
    "SIGKILL with a count of kills": (ended(WELL, signal=9, oom_kills=2), "FAIL oom agent"),
    "SIGKILL without one": (ended(WELL, signal=9, oom_kills=0), "FAIL killed agent"),
    "SIGKILL, count unknown, engine's flag": (
        replace(ended(WELL, signal=9, oom_kills=None), exit=Exit(137, oom_killed=True)),
        "FAIL oom agent",
    ),
    "SIGKILL, count zero, engine's flag": (
        replace(ended(WELL, signal=9, oom_kills=0), exit=Exit(137, oom_killed=True)),
        "FAIL killed agent",
    ),
    "our own kill at the deadline": (
        replace(ended(WELL, signal=9), exit=Exit(137, killed_by_us=True), deadline="max_seconds"),
        "FAIL timeout agent",
    ),
    "our own kill for no recorded reason": (
        replace(ended(WELL, signal=9), exit=Exit(137, killed_by_us=True)),
        "ERROR harness harness",
    ),
    "a budget, then our kill": (
        replace(ended(WELL, signal=9), exit=Exit(137, killed_by_us=True), latched="max_tool_calls"),
        "FAIL budget agent",
    ),
    "{137, false} and no report": (lost(Exit(137, oom_killed=False)), "FAIL killed agent"),
    "{137, true} and no report": (lost(Exit(137, oom_killed=True)), "FAIL oom agent"),
    "exit 0 and no report": (lost(Exit(0)), "ERROR harness harness"),
    "an unknown end and no report": (lost(Exit(None)), "ERROR harness harness"),
    "arci-init itself crashed": (lost(Exit(139, 11)), "ERROR harness harness"),
    "stopped by us and no report": (lost(Exit(137, 9, killed_by_us=True)), "ERROR harness harness"),
    "no word of the engine": (replace(WELL, exit=None), "ERROR harness harness"),
    "no word of an engine that broke": (
        replace(WELL, exit=None, troubles=(Trouble(Blame.ENGINE, "it is mute", came_first=False),)),
        "ERROR harness engine",
    ),
    "the agent raised": (replace(WELL, failure=Failure("ValueError", "no")), "FAIL crash agent"),
    "a Python agent left without an answer": (replace(WELL, has_answer=False), "FAIL crash agent"),
    "the command is not there": (
        replace(WELL, init=InitReport(exec_errno=2), exit=Exit(127), grade=None),
        "ERROR setup harness",
    ),
    "the command may not be executed": (
        replace(WELL, init=InitReport(exec_errno=13), exit=Exit(126), grade=None),
        "ERROR setup harness",
    ),
    "the engine never started it": (
        replace(WELL, init=InitReport(), exit=Exit(None, started=False, detail="no such device"), grade=None),
        "ERROR setup engine",
    ),
    "never reported as started, though the engine says 0": (
        replace(WELL, init=InitReport(), exit=Exit(0), grade=None),
        "ERROR setup harness",
    ),
    "a trouble before the start": (
        replace(WELL, init=InitReport(), exit=None, troubles=(replace(LATER, came_first=True),)),
        "ERROR setup harness",
    ),
    "the world broke first, then the agent": (
        replace(ended(WELL, 1), troubles=(FIRST,)),
        "ERROR environment environment",
    ),
    "the agent crashed first, then the world": (
        replace(ended(WELL, 1), troubles=(replace(FIRST, came_first=False),)),
        "FAIL crash agent",
    ),
    "a crash, and no snapshot": (replace(ended(WELL, 1), troubles=(LATER,)), "FAIL crash agent"),
    "a timeout, and no snapshot": (replace(WELL, deadline="max_seconds", troubles=(LATER,)), "FAIL timeout agent"),
    "completed, and no snapshot": (replace(WELL, troubles=(LATER,)), "ERROR harness harness"),
    "no snapshot goes before evidence": (
        replace(WELL, troubles=(LATER,), evidence_excess="evidence: too much"),
        "ERROR harness harness",
    ),
    "evidence over its caps goes before the grader": (
        replace(WELL, evidence_excess="evidence: too much", grade=Grade(None, "timeout")),
        "FAIL evidence agent",
    ),
    "a budget goes before a timeout": (
        replace(WELL, latched="max_tool_calls", deadline="max_seconds"),
        "FAIL budget agent",
    ),
    "a timeout goes before a crash": (replace(ended(WELL, 1), deadline="max_seconds"), "FAIL timeout agent"),
    "the grader was late": (replace(WELL, grade=Grade(None, "timeout", "20 s")), "ERROR grader grader"),
    "the grader broke, and a violation": (
        replace(WELL, grade=Grade(None, "exit"), violations=FORBIDDEN),
        "ERROR grader grader",
    ),
    "no answer of the grader": (replace(WELL, grade=None), "ERROR grader grader"),
    "a grade without success": (replace(WELL, grade=Grade(None)), "ERROR grader grader"),
    "a violation, and the oracle accepts": (replace(WELL, violations=FORBIDDEN), "FAIL violation agent"),
    "a required tool was never called": (replace(WELL, required_missing=("confirm",)), "FAIL violation agent"),
    "a replay miss goes before everything": (
        replace(ended(WELL, 1), troubles=(FIRST,), replay_miss="reserve: no recorded call"),
        "ERROR replay_miss harness",
    ),
}


@pytest.mark.parametrize(("facts", "expected"), CASES.values(), ids=CASES.keys())
def test_a_trial_counts_as_the_table_says(facts: TrialFacts, expected: str) -> None:
    found = classify(facts)
    assert f"{found.outcome} {found.ending} {found.blame}" == expected, found


def test_an_unknown_cause_is_said() -> None:
    assert "cause unknown" in classify(lost(Exit(137, oom_killed=False))).detail


def test_what_an_agent_prints_decides_nothing() -> None:
    lines = ["Killed", "Could not resolve host", "OCI runtime create failed", "no space left on device", "OOMKilled"]
    crash = ended(SHELL, 1)
    for line in lines:
        found = classify(replace(crash, error_line=line))
        assert (found.outcome, found.ending, found.blame) == (Outcome.FAIL, Ending.CRASH, Blame.AGENT)


def _product() -> itertools.product[tuple[Any, ...]]:
    inits = [
        InitReport(),
        InitReport(exec_errno=2),
        InitReport(started=True),
        InitReport(started=True, is_lost=True),
        *(InitReport(started=True, code=code, oom_kills=oom) for code in (0, 1, 75, 137) for oom in (None, 0, 1)),
        *(InitReport(started=True, signal=number, oom_kills=oom) for number in (9, 11) for oom in (None, 0, 1)),
    ]
    exits = [
        None,
        Exit(None),
        Exit(None, started=False, detail="refused"),
        Exit(0),
        Exit(1),
        Exit(137, 9, killed_by_us=True),
        Exit(137, oom_killed=True),
        Exit(137, oom_killed=False),
    ]
    grades = [None, Grade(None), Grade(None, "timeout"), Grade(True), Grade(False)]
    troubles: list[tuple[Trouble, ...]] = [(), (FIRST,), (LATER,)]
    return itertools.product(
        ("python", "command"),
        inits,
        exits,
        troubles,
        (None, "max_tool_calls"),
        (None, "max_seconds"),
        (False, True),
        (None, Failure("ValueError", "no")),
        grades,
        ((), FORBIDDEN),
        (None, "evidence: too much"),
    )


def test_every_combination_of_facts_is_judged_and_only_a_success_of_the_grader_passes() -> None:
    passed = 0
    for kind, init, end, troubles, latched, deadline, has_answer, failure, grade, violations, excess in _product():
        facts = TrialFacts(
            arm_kind=kind,
            infra_exit_codes=(75,),
            troubles=troubles,
            latched=latched,
            deadline=deadline,
            init=init,
            exit=end,
            has_answer=has_answer,
            failure=failure,
            violations=violations,
            evidence_excess=excess,
            grade=grade,
        )
        found = classify(facts)
        assert found.detail
        if found.outcome is Outcome.PASS:
            passed += 1
            assert grade is not None
            assert grade.success is True
            assert (init.code, failure, latched, deadline, troubles, violations, excess) == (0, None) + (None,) * 2 + (
                (),
                (),
                None,
            )
            assert has_answer or kind == "command"
            assert (found.blame, found.fingerprint, found.ending) == (None, None, Ending.COMPLETED)
            assert needs_grade(facts)
        else:
            assert found.fingerprint
            assert (found.blame is Blame.AGENT) is (found.outcome is Outcome.FAIL)
            if troubles == (FIRST,):
                assert found.outcome is Outcome.ERROR
    assert passed
