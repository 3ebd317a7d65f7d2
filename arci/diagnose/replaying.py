"""A recorded trial served again to its agent: REPRODUCED, NOT_REPRODUCED, or INVALID with the reason.

Whoever made the recording, what is made of its manifest here is `bundle.neutral`'s doing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arci.bundle.neutral import neutralised
from arci.diagnose.difference import first_difference
from arci.errors import ArciError
from arci.isolation.base import Isolation
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.model.record import trace_sha256
from arci.model.trial import Outcome, Trial
from arci.run.replay import Replay, Replayed, Unreplayable, replay_of
from arci.run.result import TrialResult
from arci.run.single import replay_one
from arci.run.witness import Witness

__all__ = ["Reproduction", "Verdict", "judge", "replay_trial", "reproduction_document"]

_JUDGED = ("outcome", "ending", "blame", "detail", "fingerprint")
_MOST_NAMED = 3
_MOST_CHARACTERS = 200


class Verdict(StrEnum):
    """What a replay says; `exit_code` is what `arci replay` ends with."""

    REPRODUCED = "REPRODUCED"
    NOT_REPRODUCED = "NOT_REPRODUCED"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        return {"REPRODUCED": 0, "NOT_REPRODUCED": 1, "INVALID": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The verdict with what it rests on."""

    verdict: Verdict
    reason: str
    """One sentence or two for people. Parts of it are the agent's and the recording's words."""
    recorded: Mapping[str, Any]
    """`outcome`, `ending`, `blame`, `detail`, `fingerprint` of the record."""
    result: TrialResult | None = None
    """The trial as it was made now; None where it could not be."""
    is_same_trace: bool = False
    """Every comparable step was the same, too; concurrent calls may be recorded in another order."""


async def replay_trial(
    manifest: Manifest,
    trial: Trial,
    record: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]],
    isolation: Isolation,
    *,
    volatile: Mapping[str, Any] | None = None,
    witness: Witness | None = None,
) -> Reproduction:
    """Make the recorded trial again with its environment, faults and upstreams answered out of `events`. `volatile`:
    where sources or images are here (`root`, `image_refs`). What cannot be started is INVALID, never an exception."""
    recorded = {name: record.get(name) for name in _JUDGED}
    try:
        replay = replay_of(record, events)
        safe = neutralised(manifest, volatile=manifest.volatile if volatile is None else volatile)
        result = await replay_one(safe, isolation, trial, replay, witness)
    except (Unreplayable, ArciError) as error:
        return Reproduction(Verdict.INVALID, str(error), recorded)
    verdict, reason = judge(recorded, replay, result.record, result.replayed)
    return Reproduction(verdict, reason, recorded, result, trace_sha256(result.events) == record.get("trace_sha256"))


def judge(
    recorded: Mapping[str, Any], replay: Replay, made: Mapping[str, Any], followed: Replayed | None
) -> tuple[Verdict, str]:
    """The verdict on a trial that was made again, and its reason. Pure. `made`: the record of the replay."""
    if followed is None:
        return Verdict.INVALID, "nothing was replayed"
    if followed.miss is not None:
        return Verdict.INVALID, _miss_reason(followed.miss, replay)
    is_same = all(recorded[name] == made[name] for name in ("outcome", "fingerprint"))
    if not is_same and not followed.agent_was_ready:
        return Verdict.INVALID, f"the agent did not start: {made['detail']}"
    if not is_same and made["outcome"] == Outcome.ERROR:
        return Verdict.INVALID, f"the replay broke: {made['ending']}: {made['detail']}"
    if followed.leftover_count:
        return Verdict.INVALID, _leftover_reason(followed, replay)
    if not is_same:
        return Verdict.NOT_REPRODUCED, f"recorded: {_told(recorded)}; now: {_told(made)}"
    return Verdict.REPRODUCED, f"{_told(made)}, as recorded"


def reproduction_document(found: Reproduction) -> dict[str, Any]:
    """The JSON object of `arci replay --json`."""
    made = None if found.result is None else {name: found.result.record[name] for name in _JUDGED}
    return {
        "verdict": found.verdict.value,
        "exit_code": found.verdict.exit_code,
        "reason": found.reason,
        "recorded": dict(found.recorded),
        "replayed": made,
        "same_trace": found.is_same_trace,
        "phases": None if found.result is None else found.result.record["phases"],
    }


def _told(judged: Mapping[str, Any]) -> str:
    fingerprint = f" ({judged['fingerprint']})" if judged["fingerprint"] else ""
    return f"{judged['outcome']} {judged['ending']}{fingerprint}"


def _miss_reason(miss: Mapping[str, Any], replay: Replay) -> str:
    call, count, index = miss["call"], miss.get("recorded"), miss.get("nearest")
    asked = _named(call)
    if miss.get("is_too_long"):
        return f"{asked}: its recorded answer is too long to be in the record"
    if count:
        return f"{asked}: it was recorded {count} time{'s' if count != 1 else ''}, and is made once more"
    if not isinstance(index, int) or not 0 <= index < len(replay.calls):
        return f"{asked}: nothing like it was recorded"
    nearest = replay.calls[index]
    if nearest["name"] != call.get("name"):
        return f"{asked}: it was not recorded; the nearest recorded call is {_named(nearest)}"
    return f"{asked}: it was not recorded; {_differs(nearest, call)}"


def _differs(nearest: Mapping[str, Any], call: Mapping[str, Any]) -> str:
    found = first_difference(nearest["payload"], call.get("payload"))
    if found is None:
        return f"the nearest recorded call is {_named(nearest)}"
    place = found.path or "what was asked"
    return f"the nearest recorded call is {_named(nearest)}, and {place} was {found.a} there and is {found.b} now"


def _leftover_reason(followed: Replayed, replay: Replay) -> str:
    count = followed.leftover_count
    known = [index for index in followed.leftover if 0 <= index < len(replay.calls)]
    named = "; ".join(_named(replay.calls[index]) for index in known[:_MOST_NAMED])
    return f"{count} recorded call{'s were' if count != 1 else ' was'} not made: {named}{' ...' if count > 3 else ''}"


def _named(call: Mapping[str, Any]) -> str:
    payload = canonical(call.get("payload")).decode("utf-8")
    shown = payload if len(payload) <= _MOST_CHARACTERS else f"{payload[:_MOST_CHARACTERS]}..."
    return f"{call.get('name')}{shown}"
