"""A recorded trial as the recorder serves it again, and what came of serving it. Pure.

Environment, faults and upstreams do not run in a replay: their answers are in the events. Agent and grader do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.model.canonical import canonical
from arci.model.trial import Ending, Outcome
from arci.run.replay_calls import recorded_calls
from arci.run.replay_notices import with_notices

__all__ = ["MOST_BYTES", "Replay", "Replayed", "Unreplayable", "miss_text", "replay_of"]

MOST_BYTES = 30 << 20
"""Of one recording, as the frame that begins a trial carries it."""


class Unreplayable(ValueError):
    """A recording cannot be served again; the text says why."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What stands in for environment and upstreams."""

    servers: tuple[Mapping[str, Any], ...]
    """`name`, `about`, `tools` of each; `told`: what it told before anything was asked."""
    calls: tuple[Mapping[str, Any], ...]
    """`kind` (`tool`, `relay`, `model`), `name`, `payload`, `answer`, in the order of the recording."""
    death: Mapping[str, Any] | None
    """The trouble to tell when a call is answered that killed its server, where that made the trial fail."""
    initial_state: dict[str, Any] | None
    final_state: dict[str, Any] | None

    def order(self) -> dict[str, Any]:
        """The part of the `begin` frame."""
        return {"servers": list(self.servers), "calls": list(self.calls), "death": self.death}


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a trial followed its recording. Calls are indices into `Replay.calls`."""

    miss: Mapping[str, Any] | None
    """The recorder's `replay_miss` frame: `call`, `recorded`, `is_too_long`, `nearest`."""
    leftover: tuple[int, ...]
    """The first of the recorded calls that were not made."""
    leftover_count: int
    agent_was_ready: bool
    """Its process ran, and a Python agent's module was imported."""


def replay_of(record: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Replay:
    """The recorded trial, ready to be served. Unreplayable for one that holds too little, or too much."""
    try:
        calls, servers = with_notices(tuple(recorded_calls(events)), tuple(_servers(record["environment"])), events)
        replay = Replay(
            servers=servers,
            calls=calls,
            death=_death(record),
            initial_state=record["initial_state"],
            final_state=record["final_state"],
        )
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise Unreplayable(f"the record does not hold what a replay needs ({error!r})") from None
    size = len(canonical(replay.order()))
    if size > MOST_BYTES:
        raise Unreplayable(f"recorded calls and notifications are {size} bytes; {MOST_BYTES} can be replayed")
    return replay


def miss_text(miss: Mapping[str, Any]) -> str:
    """What the agent asked for that is not in the recording, for people."""
    call = miss["call"]
    return f"the recording has no answer to {call.get('kind')} {str(call.get('name'))[:200]!r}"


def _servers(environment: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The tools are listed under the names they were recorded by; each server knows them under its own."""
    tools = iter(environment["tools"])
    for server in environment["servers"]:
        about = {key: server[key] for key in ("era", "revision", "capabilities", "info", "instructions")}
        own = [{**next(tools, {}), "name": str(name)} for name in server["tools"]]
        yield {"name": str(server["name"]), "about": about, "tools": own}


def _death(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """A server that no call may kill, and that one killed: its failure is named by server and manner of death."""
    if (record["outcome"], record["ending"]) != (Outcome.FAIL, Ending.ENVIRONMENT):
        return None
    kind, server, how = (*str(record["fingerprint"]).split("|", 2), "", "")[:3]
    if kind != "server":
        return None
    return {"detail": str(record["detail"]), "server": server, "during_call": True, "how": how}
