"""Who broke a trial, and what it counts as: one pure function over facts that the agent cannot print.

The rules stand in the order of their precedence; the first that speaks decides. What none of them recognises is ERROR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arci.model.trial import Blame, Ending, Outcome
from arci.run.agent_end import judge_agent_end, judge_start
from arci.run.facts import TrialFacts, Trouble
from arci.run.fingerprint import fingerprint, normalise
from arci.run.judgement import Judgement, error, fail

__all__ = ["Judgement", "classify", "needs_grade"]

Rule = Callable[[TrialFacts], Judgement | None]


def classify(facts: TrialFacts) -> Judgement:
    """The judgement of a trial: total, never raises, never PASS without the grader's success."""
    for rule in (*_BEFORE_GRADE, *_AFTER_GRADE):
        judgement = rule(facts)
        if judgement is not None:
            return judgement
    return error(Ending.HARNESS, Blame.HARNESS, "the trial ended in a way that is not recognised")


def needs_grade(facts: TrialFacts) -> bool:
    """True if nothing before the grader decides, so that the grader must be asked."""
    return all(rule(facts) is None for rule in _BEFORE_GRADE)


def _replay_miss(facts: TrialFacts) -> Judgement | None:
    if facts.replay_miss is None:
        return None
    return error(Ending.REPLAY_MISS, Blame.HARNESS, facts.replay_miss)


@dataclass(frozen=True, slots=True)
class _TroubleRule:
    came_first: bool

    def __call__(self, facts: TrialFacts) -> Judgement | None:
        for trouble in facts.troubles:
            if trouble.came_first is not self.came_first:
                continue
            if trouble.during_call and trouble.server in facts.may_not_crash:
                return _crashed_server(trouble)
            if trouble.blame is Blame.ENVIRONMENT:
                return error(Ending.ENVIRONMENT, Blame.ENVIRONMENT, trouble.detail)
            never_started = self.came_first and not facts.init.started
            return error(Ending.SETUP if never_started else Ending.HARNESS, trouble.blame, trouble.detail)
        return None


def _crashed_server(trouble: Trouble) -> Judgement:
    """The agent's call killed a server that the descriptor says no call may kill."""
    how = trouble.how or normalise(trouble.detail)
    return fail(Ending.ENVIRONMENT, trouble.detail, fingerprint("server", trouble.server or "", how))


def _budget(facts: TrialFacts) -> Judgement | None:
    if facts.latched is None:
        return None
    return fail(Ending.BUDGET, f"budget {facts.latched} was reached", fingerprint("budget", facts.latched))


def _timeout(facts: TrialFacts) -> Judgement | None:
    if facts.deadline is None:
        return None
    return fail(Ending.TIMEOUT, f"still running at the end of {facts.deadline}", fingerprint("timeout", facts.deadline))


def _evidence(facts: TrialFacts) -> Judgement | None:
    if facts.evidence_excess is None:
        return None
    return fail(Ending.EVIDENCE, facts.evidence_excess, fingerprint("evidence"))


def _grader_error(facts: TrialFacts) -> Judgement | None:
    grade = facts.grade
    if grade is None:
        return error(Ending.GRADER, Blame.GRADER, "there is no answer of the grader")
    if grade.error_kind is not None or grade.success is None:
        return error(Ending.GRADER, Blame.GRADER, f"{grade.error_kind or 'no answer'}: {grade.message}")
    return None


def _violation(facts: TrialFacts) -> Judgement | None:
    if facts.violations:
        first = facts.violations[0]
        invariant, tool = str(first.get("invariant")), str(first.get("tool") or "")
        detail = f"{invariant}: {first.get('detail') or tool}"
        return fail(Ending.VIOLATION, detail, fingerprint("violation", invariant, tool))
    if facts.required_missing:
        names = ", ".join(facts.required_missing)
        return fail(
            Ending.VIOLATION,
            f"required_tools: never called: {names}",
            fingerprint("violation", "required_tools", facts.required_missing[0]),
        )
    return None


def _oracle(facts: TrialFacts) -> Judgement | None:
    if facts.grade is None:
        return None
    oom = facts.init.oom_kills or 0
    note = f"; {oom} process(es) of the agent were killed for memory, it went on" if oom > 0 else ""
    if facts.grade.success is True:
        return Judgement(Outcome.PASS, Ending.COMPLETED, None, f"the oracle accepts the final state{note}", None)
    if facts.grade.success is False:
        name = fingerprint("oracle", facts.bad_tool or "")
        return fail(Ending.COMPLETED, f"the oracle refuses the final state{note}", name)
    return None


_BEFORE_GRADE: tuple[Rule, ...] = (
    _replay_miss,
    _TroubleRule(came_first=True),
    judge_start,
    _budget,
    _timeout,
    judge_agent_end,
    _TroubleRule(came_first=False),
    _evidence,
)
_AFTER_GRADE: tuple[Rule, ...] = (_grader_error, _violation, _oracle)
