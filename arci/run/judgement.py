"""What a trial counts as, and the two ways to say that it is no success. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from arci.model.trial import Blame, Ending, Outcome
from arci.run.fingerprint import fingerprint, normalise

__all__ = ["Judgement", "error", "fail"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """`blame` and `fingerprint` are None for PASS alone. `detail` is one sentence for people."""

    outcome: Outcome
    ending: Ending
    blame: Blame | None
    detail: str
    fingerprint: str | None


def fail(ending: Ending, detail: str, name: str) -> Judgement:
    """The agent failed: data, counted. `name` is the fingerprint."""
    return Judgement(Outcome.FAIL, ending, Blame.AGENT, detail, name)


def error(ending: Ending, blame: Blame, detail: str) -> Judgement:
    """We or the machine failed; the fingerprint is made of the ending, the blame and the first line of `detail`."""
    name = fingerprint(ending.value, blame.value, normalise(detail))
    return Judgement(Outcome.ERROR, ending, blame, detail, name)
