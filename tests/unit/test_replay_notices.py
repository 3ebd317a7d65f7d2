"""Where notifications and progress of a record stand in its replay. Pure."""

from __future__ import annotations

from typing import Any

import pytest
from test_replay_verdict import finish, record, start

from arci.model.upstream import DECISION_TOOL
from arci.run import replay
from arci.run.replay import Replay, Unreplayable, replay_of


def timed(*events: dict[str, Any]) -> list[dict[str, Any]]:
    """Each a second after the one before."""
    return [{"at_s": float(second), **event} for second, event in enumerate(events)]


def notification(data: Any, server: str = "a", **changes: Any) -> dict[str, Any]:
    said = {"server": server, "method": "notifications/message", "params": {"data": data}}
    return {"kind": "notification", **said, **changes}


def progress(n: int, **of: Any) -> dict[str, Any]:
    return {"kind": "progress", "params": {"progress": n}, **of}


def relay(request: int, asked_at_s: float, method: str = "resources/read") -> dict[str, Any]:
    asked = {"server": "a", "method": method, "params": {}, "ok": True, "result": "{}"}
    return {"kind": "relay", "request": request, "asked_at_s": asked_at_s, **asked}


def told(*events: dict[str, Any]) -> Replay:
    given = timed(*events)
    return replay_of(record(), given)


def words(notices: list[dict[str, Any]]) -> list[Any]:
    return [notice["params"].get("data", notice["params"].get("progress")) for notice in notices]


def around(replay: Replay) -> list[tuple[list[Any], list[Any]]]:
    """Of each call, what is told before its answer and after it."""
    answers = [call["answer"] for call in replay.calls]
    return [(words(a.get("told", [])), words(a.get("told_after", []))) for a in answers]


def test_what_came_during_a_call_is_told_before_its_answer_in_its_order() -> None:
    found = told(start(0), progress(1, call_id=0, tool="get"), notification("a"), progress(2, call_id=0), finish(0))
    assert around(found) == [([1, "a", 2], [])]
    assert found.calls[0]["answer"]["told"][1] == {
        "server": "a",
        "method": "notifications/message",
        "params": {"data": "a"},
    }


def test_what_came_between_calls_is_told_after_the_answer_before_it() -> None:
    found = told(start(0), finish(0), notification("a"), start(1), finish(1), notification("b"), notification("c"))
    assert around(found) == [([], ["a"]), ([], ["b", "c"])]


def test_what_came_before_any_call_is_told_by_its_server() -> None:
    found = told(notification("a"), notification("b", server="b"), notification("c"), start(0), finish(0))
    assert [words(server.get("told", [])) for server in found.servers] == [["a", "c"], ["b"]]
    assert around(found) == [([], [])]


def test_of_calls_under_way_together_it_is_the_one_that_began_last() -> None:
    found = told(start(0), start(1), notification("a"), progress(1, call_id=0), finish(1), notification("b"), finish(0))
    assert around(found) == [([1, "b"], []), (["a"], [])]


def test_a_relayed_request_is_under_way_from_when_it_was_asked() -> None:
    events = (
        notification("a"),
        progress(1, server="a", request=0),
        notification("b"),
        relay(0, 1.0),
        notification("c"),
    )
    found = told(*events)
    assert words(found.servers[0]["told"]) == ["a"]
    assert around(found) == [([1, "b"], ["c"])]


def test_progress_of_a_relayed_request_is_not_that_of_a_call_of_the_same_number() -> None:
    found = told(start(0), progress(1, server="a", request=0), relay(0, 0.5), progress(2, call_id=0), finish(0))
    assert around(found) == [([2], []), ([1], [])]


@pytest.mark.parametrize(
    "event",
    [
        notification("x", heard=False),
        {"kind": "notification", "server": "a", "method": "m", "params_bytes": 9999},
        {"kind": "notification", "server": "a", "method": "m"},
        progress(1, call_id=7, tool="get"),
        {"kind": "progress", "call_id": 0, "tool": "get", "params_bytes": 9999},
    ],
)
def test_what_nobody_heard_or_no_record_keeps_is_not_told(event: dict[str, Any]) -> None:
    events = timed(start(0), event, finish(0))
    assert replay_of(record(), events) == replay_of(record(), [events[0], events[2]])


@pytest.mark.parametrize("kind", ["refused", "budget"])
def test_a_call_that_is_decided_anew_holds_no_place(kind: str) -> None:
    refused = finish(0, "no", ok=False, error_kind=kind)
    found = told(start(0), refused, notification("a"), start(1, x=1), notification("b"), finish(1))
    assert around(found) == [(["b"], [])]
    assert words(found.servers[0]["told"]) == ["a"]


def test_what_models_and_decisions_are_asked_holds_no_place() -> None:
    asked = {"kind": "model_start", "upstream": "m", "call_id": 0, "path": "/p", "request": {}}
    model = {**asked, "messages_sha256": "0", "stream": False}
    decision = start(1, tool=DECISION_TOOL)
    lookup: dict[str, Any] = {
        "kind": "upstream_lookup",
        "upstream": "m",
        "method": "GET",
        "path": "/q",
        "request": None,
    }
    lookup |= {"status": 200, "response": {}, "error_kind": None}
    found = told(start(0), finish(0), model, lookup, decision, notification("a"), finish(1), start(2, x=1), finish(2))
    assert [call["kind"] for call in found.calls] == ["tool", "model", "lookup", "tool", "tool"]
    assert around(found) == [([], ["a"]), ([], []), ([], []), ([], []), ([], [])]


def test_a_call_without_an_end_is_under_way_to_the_end() -> None:
    assert around(told(start(0), notification("a"), start(1), finish(1), notification("b"))) == [
        (["a", "b"], []),
        ([], []),
    ]


def test_events_that_no_recorder_wrote_cannot_be_replayed() -> None:
    events = timed(start(0), finish(0), {"kind": "notification", "params": {}})
    with pytest.raises(Unreplayable, match="server"):
        replay_of(record(), events)


def test_more_than_a_frame_carries_cannot_be_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MOST_BYTES", 500)
    events = timed(start(0), finish(0), notification("x" * 500))
    with pytest.raises(Unreplayable, match="500 can be replayed"):
        replay_of(record(), events)
