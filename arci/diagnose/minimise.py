"""The smallest part of a failing trial that still fails in the same way: each candidate is a fresh trial.

What a result may be called rests on what was seen: `1-minimal` takes a trial for every single thing that could still be
left out, and none of those trials may show the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arci.diagnose.reduction import (
    Reduction,
    each_field,
    each_parameter,
    fewer_faults,
    one_fault_less,
    reduction_of,
    reproducer,
)
from arci.diagnose.rerun import RecordedTrial
from arci.diagnose.shrink import Pass, Shrunk, shrink
from arci.diagnose.tally import Tally
from arci.errors import ArciError, UsageError
from arci.model.record import trace_sha256
from arci.model.trial import Blame, Outcome
from arci.run.single import Make

__all__ = ["Minimised", "Rules", "minimise", "minimised_document"]

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """A candidate fails if at least `at_least` of `repeat` trials show the same fingerprint; the trials stop early once
    that is settled. `with_fields`: fields of the task and parameters of faults are left out, too."""

    repeat: int = 1
    at_least: int = 1
    most_trials: int = 500
    with_fields: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.at_least <= self.repeat:
            raise UsageError(f"--at-least: {self.at_least}; from 1 to --repeat ({self.repeat}) is allowed.")
        if self.most_trials < self.repeat:
            raise UsageError(f"--max-trials: {self.most_trials}; at least --repeat ({self.repeat}) is required.")


@dataclass(frozen=True, slots=True)
class Minimised:
    """What came of it. `kind` is `1-minimal` or `reduced`."""

    kind: str
    reason: str
    """Why it may be called so, or why not more."""
    before: Reduction
    after: Reduction
    trials: int
    tally: Tally
    """Of the trials of `after`."""
    document: Mapping[str, Any]
    """The reproducer: a sealed manifest of one trial per arm."""
    trial_id: str
    """In the reproducer."""


class _Search:
    """The predicate of the shrinker, and what its trials showed."""

    def __init__(self, recorded: RecordedTrial, make: Make, rules: Rules, notice: Notice) -> None:
        self.trials = 0
        self.tallies: dict[bytes, Tally] = {}
        self.is_same_trace = True
        """The first trial of what was recorded took the same steps."""
        self._recorded = recorded
        self._make = make
        self._rules = rules
        self._notice = notice

    async def fails(self, value: Reduction) -> bool:
        tally = self.tallies[value.key] = Tally(self._rules.repeat, self._rules.at_least)
        while not tally.is_settled and self.trials < self._rules.most_trials:
            tally.add(await self._try(value))
        return tally.fails

    async def _try(self, value: Reduction) -> bool | None:
        """Whether one trial failed in the same way; None where we broke, which says nothing."""
        _, manifest, trial = reproducer(self._recorded.document, self._recorded.trial, value)
        made = await self._make(manifest, trial)
        self.trials += 1
        record, wanted = made.record, self._recorded.record
        if self.trials == 1:
            self.is_same_trace = trace_sha256(made.events) == wanted["trace_sha256"]
        is_same = record["outcome"] == Outcome.FAIL and record["fingerprint"] == wanted["fingerprint"]
        faults = f"{len(value.faults)} fault{'' if len(value.faults) == 1 else 's'}"
        shown = "the failure" if is_same else f"{record['outcome']} {record['ending']}"
        self._notice(f"trial {self.trials}: {faults}: {shown}")
        if record["outcome"] == Outcome.ERROR and record["blame"] not in (Blame.ENVIRONMENT, Blame.GRADER):
            return None
        return bool(is_same)


async def minimise(recorded: RecordedTrial, make: Make, rules: Rules, notice: Notice = lambda text: None) -> Minimised:
    """UsageError for a trial that is no failure of an agent's; ArciError if it does not fail again as it stands."""
    if recorded.record["outcome"] != Outcome.FAIL:
        raise UsageError(f"{recorded.trial.trial_id}: is {recorded.record['outcome']}; a FAIL can be minimised.")
    before = reduction_of(recorded.document, recorded.trial)
    search = _Search(recorded, make, rules, notice)
    single: list[Pass[Reduction]] = [one_fault_less, *((each_parameter, each_field) if rules.with_fields else ())]
    found = await shrink(
        before,
        [fewer_faults],
        search.fails,
        single=single,
        key=lambda value: value.key,
        max_calls=max(1, rules.most_trials // rules.repeat),
    )
    if not found.was_interesting:
        raise ArciError(_unshown(search.tallies[before.key], recorded), hint="--repeat K --at-least M counts over more")
    kind, reason = _called(found, single, search, rules)
    about = {"reproduces": _about(recorded, kind, search.trials)}
    document, _, trial = reproducer(recorded.document, recorded.trial, found.value, **about)
    tally = search.tallies[found.value.key]
    return Minimised(kind, reason, before, found.value, search.trials, tally, document, trial.trial_id)


def minimised_document(found: Minimised) -> dict[str, Any]:
    """The JSON object of `arci minimize --json`."""
    return {
        "result": found.kind,
        "reason": found.reason,
        "trials": found.trials,
        "faults_before": len(found.before.faults),
        "faults": [dict(fault) for fault in found.after.faults],
        "task": dict(found.after.task),
        "failed": found.tally.failed,
        "tried": found.tally.tried,
        "trial_id": found.trial_id,
        "experiment_id": found.document["experiment_id"],
        "manifest_sha256": found.document["record_sha256"],
    }


def _called(found: Shrunk[Reduction], single: list[Pass[Reduction]], search: _Search, rules: Rules) -> tuple[str, str]:
    """What the result may be called, and why."""
    left = {value.key: value for each in single for value in each(found.value)}
    if not found.is_minimal:
        return "reduced", f"--max-trials {rules.most_trials} ended the search before every single removal was tried"
    tallies = [search.tallies[key] for key in left]
    shown = sum(1 for tally in tallies if tally.failed)
    if shown:
        some = "a single removal" if shown == 1 else f"{shown} single removals"
        return "reduced", f"{some} still failed now and then: rarer, but not lost"
    if not all(tally.is_lost for tally in tallies):
        return "reduced", "not every single removal could be tried to the end"
    if rules.repeat == 1 and not search.is_same_trace:
        return "reduced", "the trial took other steps than recorded: one trial each is no evidence; use --repeat"
    if not left:
        return "1-minimal", "it fails without any fault: nothing is left that could be left out"
    return "1-minimal", _lost(len(left), sum(tally.tried for tally in tallies))


def _lost(removals: int, trials: int) -> str:
    told = "the one single removal" if removals == 1 else f"each of {removals} single removals"
    return f"{told} lost the failure, in {'its one trial' if trials == 1 else f'all of {trials} trials'}"


def _about(recorded: RecordedTrial, kind: str, trials: int) -> dict[str, Any]:
    named = {name: recorded.record[name] for name in ("trial_id", "record_sha256", "fingerprint")}
    trial = recorded.trial
    planned = {"condition_id": trial.condition_id, "index": trial.index, "n_per_arm": recorded.manifest.n_per_arm}
    return {**named, "arm": trial.arm, **planned, "result": kind, "trials": trials}


def _unshown(tally: Tally, recorded: RecordedTrial) -> str:
    return (
        f"{recorded.trial.trial_id}: failed again in {tally.failed} of {tally.tried} trials; it was recorded as "
        f"{recorded.record['fingerprint']}, and what does not fail cannot be minimised."
    )
