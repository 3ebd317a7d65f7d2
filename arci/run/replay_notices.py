"""What servers told without being asked, put where a replay tells it again: around the calls that it came with. Pure.

A replay has no clock to go by. What came while a call was under way is told before its answer, anything else after the
answer before it, or, before the first, when a client has come to hear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arci.model.upstream import DECISION_TOOL
from arci.run.replay_calls import recorded_calls

__all__ = ["with_notices"]

Event = Mapping[str, Any]


@dataclass(slots=True)
class _Place:
    """One recorded call, from event `began` at `began_s` to event `ended`; what was told with it."""

    index: int
    began: int
    began_s: float
    ended: int
    told: list[dict[str, Any]] = field(default_factory=list)
    told_after: list[dict[str, Any]] = field(default_factory=list)


def with_notices(
    calls: Sequence[Mapping[str, Any]], servers: Sequence[Mapping[str, Any]], events: Sequence[Event]
) -> tuple[tuple[Mapping[str, Any], ...], tuple[Mapping[str, Any], ...]]:
    """`calls`, as `recorded_calls` finds them in `events`, and `servers`, with the notifications and the progress that
    were heard. KeyError, TypeError and the like for events that no recorder wrote."""
    if not any(event["kind"] in ("notification", "progress") for event in events):
        return tuple(calls), tuple(servers)
    places = list(_places(events))
    opening: dict[str, list[dict[str, Any]]] = {}
    for position, event in enumerate(events):
        if event["kind"] == "progress" and "params" in event:
            _tell_progress(event, events, places)
        elif event["kind"] == "notification" and "params" in event and event.get("heard", True):
            told = {name: event[name] for name in ("server", "method", "params")}
            _list_for(position, event, places, opening).append(told)
    found = list(calls)
    for place in places:
        told = {"told": place.told} if place.told else {}
        after = {"told_after": place.told_after} if place.told_after else {}
        call = found[place.index]
        found[place.index] = {**call, "answer": {**call["answer"], **told, **after}}
    return tuple(found), tuple({**s, "told": opening[s["name"]]} if s["name"] in opening else s for s in servers)


def _places(events: Sequence[Event]) -> Iterator[_Place]:
    """Of calls of tools and of relayed requests, in the order of `recorded_calls`; what models and decisions are asked
    is served elsewhere."""
    ends = {event["call_id"]: at for at, event in enumerate(events) if event["kind"] == "tool_finish"}
    index = -1
    for position, event in enumerate(events):
        end = ends.get(event["call_id"], len(events)) if event["kind"] == "tool_start" else position
        made_of = [event, *events[end : end + 1]] if end > position else [event]
        if not list(recorded_calls(made_of)):
            continue
        index += 1
        if event["kind"] == "relay":
            yield _Place(index, position, event.get("asked_at_s", event["at_s"]), position)
        elif event["kind"] == "tool_start" and event["tool"] != DECISION_TOOL:
            yield _Place(index, position, event["at_s"], end)


def _tell_progress(event: Event, events: Sequence[Event], places: Sequence[_Place]) -> None:
    """To the request that it is the progress of."""
    kind, name = ("tool_start", "call_id") if "call_id" in event else ("relay", "request")
    for place in places:
        begun = events[place.began]
        if begun["kind"] == kind and begun.get(name) == event[name]:
            place.told.append({"params": event["params"]})
            return


def _list_for(
    position: int, event: Event, places: Sequence[_Place], opening: dict[str, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Where a notification belongs: with the call under way that began last, else behind the last that had ended. A
    relayed request is one event, at its end: that it was under way is told by its time alone."""
    under_way = [p for p in places if position < p.ended and p.began_s <= event["at_s"] and _has_begun(p, position)]
    if under_way:
        return max(under_way, key=lambda place: (place.began_s, place.index)).told
    over = [place for place in places if place.ended < position]
    if over:
        return max(over, key=lambda place: place.ended).told_after
    return opening.setdefault(event["server"], [])


def _has_begun(place: _Place, position: int) -> bool:
    return place.began == place.ended or place.began < position
