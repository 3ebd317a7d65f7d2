"""What of a record is served again, and the verdict on how a trial followed it. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from arci.diagnose.replaying import Verdict, judge
from arci.run import replay as replay_module
from arci.run.replay import Replay, Replayed, Unreplayable, miss_text, replay_of

TOOLS = [{"name": "a.get", "inputSchema": {}}, {"name": "b.get", "inputSchema": {}}, {"name": "put"}]


def server(name: str, *tools: str) -> dict[str, Any]:
    about: dict[str, Any] = {"era": "legacy", "revision": "r", "info": {}, "capabilities": {}, "instructions": None}
    return {"name": name, **about, "tools": list(tools)}


def record(**changes: Any) -> dict[str, Any]:
    environment = {"tools": TOOLS, "servers": [server("a", "get"), server("b", "get", "put")]}
    judged = {"outcome": "FAIL", "ending": "completed", "blame": "agent", "detail": "no", "fingerprint": "oracle"}
    return {**judged, "environment": environment, "initial_state": {"n": 0}, "final_state": {"n": 1}, **changes}


def start(call_id: int, tool: str = "get", **arguments: Any) -> dict[str, Any]:
    return {"kind": "tool_start", "tool": tool, "call_id": call_id, "occurrence": 0, "arguments": arguments}


def finish(call_id: int, value: Any = 1, **changes: Any) -> dict[str, Any]:
    plain = {"ok": True, "value": value, "error_kind": None, "injected_by": None, "executed": True}
    return {"kind": "tool_finish", "tool": "get", "call_id": call_id, "occurrence": 0, **plain, **changes}


def injection(call_id: int, tool: str = "get") -> dict[str, Any]:
    return {"kind": "injection", "fault": "latency", "fault_index": 2, "tool": tool, "call_id": call_id}


def calls(*events: dict[str, Any]) -> tuple[Any, ...]:
    return replay_of(record(), events).calls


def test_each_server_knows_its_tools_under_its_own_names() -> None:
    replay = replay_of(record(), [])
    assert [(s["name"], [t["name"] for t in s["tools"]]) for s in replay.servers] == [
        ("a", ["get"]),
        ("b", ["get", "put"]),
    ]
    assert replay.servers[0]["about"]["revision"] == "r"
    assert (replay.initial_state, replay.final_state) == ({"n": 0}, {"n": 1})


def test_calls_are_in_the_order_in_which_they_were_made_with_their_own_answers() -> None:
    first, second = calls(start(0, a=1), start(1, a=2), finish(1, "two"), finish(0, "one"))
    assert (first["payload"], first["answer"]["value"]) == ({"a": 1}, "one")
    assert (second["payload"], second["answer"]["value"]) == ({"a": 2}, "two")


def test_injections_belong_to_their_call_and_not_to_a_model_s_of_the_same_number() -> None:
    found = calls(start(0), injection(0, "model:openai"), injection(0), finish(0, injected_by="latency"))
    assert found[0]["answer"]["injections"] == [{"fault": "latency", "fault_index": 2}]


@pytest.mark.parametrize("kind", ["refused", "budget"])
def test_what_contract_or_budget_refused_is_not_looked_up(kind: str) -> None:
    assert calls(start(0), finish(0, ok=False, error_kind=kind)) == ()


@pytest.mark.parametrize(
    "events",
    [
        [start(0)],
        [start(0), finish(0, heard=False)],
        [start(0), finish(0, ok=False, error_kind="cancelled")],
    ],
)
def test_an_answer_that_the_agent_did_not_hear_is_held(events: list[dict[str, Any]]) -> None:
    (call,) = calls(*events)
    assert call["answer"]["is_held"] is True


def test_relayed_requests_are_kept_with_result_error_or_neither() -> None:
    plain = {"kind": "relay", "server": "a", "method": "resources/read", "params": {"uri": "x"}}
    found = calls({**plain, "result": "{}"}, {**plain, "error": {"code": 1}}, plain, {**plain, "result_bytes": 9})
    assert [call["answer"] for call in found] == [
        {"result": "{}"},
        {"error": {"code": 1}},
        {"is_gone": True},
        {"too_long": 9},
    ]
    assert {call["name"] for call in found} == {"a resources/read"}


def test_a_server_that_died_of_a_call_dies_again_only_where_that_was_the_failure() -> None:
    died = record(ending="environment", fingerprint="server|a|exit status 3", detail="server 'a' ended")
    death = replay_of(died, []).death
    assert death == {"detail": "server 'a' ended", "server": "a", "during_call": True, "how": "exit status 3"}
    assert replay_of(record(), []).death is None
    assert replay_of({**died, "outcome": "ERROR"}, []).death is None


@pytest.mark.parametrize(
    "broken",
    [
        ({"environment": {"servers": []}}, []),
        ({"environment": {"tools": [], "servers": [{"name": "a"}]}}, []),
        ({}, [{"kind": "tool_start"}]),
        ({}, [{**start(0), "arguments": None}]),
        ({}, [start(0), {"kind": "tool_finish", "call_id": 0}]),
        ({"environment": None}, []),
    ],
)
def test_a_record_that_no_recorder_wrote_cannot_be_replayed(broken: Any) -> None:
    changes, events = broken
    with pytest.raises(Unreplayable):
        replay_of(record(**changes), events)


def test_a_recording_that_does_not_fit_into_a_frame_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module, "MOST_BYTES", 1000)
    with pytest.raises(Unreplayable, match="1000 can be replayed"):
        replay_of(record(), [start(0), finish(0, "x" * 1000)])


# The verdict

REPLAY = Replay((), calls(start(0, quantity=3, sku="w"), start(1, "put", b=1)), None, None, None)
FAIL = {"outcome": "FAIL", "ending": "completed", "detail": "no", "fingerprint": "oracle"}
PASS = {"outcome": "PASS", "ending": "completed", "detail": "yes", "fingerprint": None}
ERROR = {"outcome": "ERROR", "ending": "harness", "detail": "broke", "fingerprint": "harness|harness"}
WELL = Replayed(None, (), 0, True)


def missed(name: str, payload: Any, nearest: int | None, **more: Any) -> Replayed:
    call = {"kind": "tool", "name": name, "payload": payload}
    return Replayed({"call": call, "recorded": 0, "is_too_long": False, "nearest": nearest, **more}, (), 0, True)


@pytest.mark.parametrize(
    ("made", "followed", "verdict", "words"),
    [
        (FAIL, WELL, Verdict.REPRODUCED, "as recorded"),
        (PASS, WELL, Verdict.NOT_REPRODUCED, "recorded: FAIL completed (oracle); now: PASS completed"),
        ({**FAIL, "fingerprint": "crash|1"}, WELL, Verdict.NOT_REPRODUCED, "(crash|1)"),
        (ERROR, WELL, Verdict.INVALID, "the replay broke: harness: broke"),
        (PASS, Replayed(None, (), 0, False), Verdict.INVALID, "the agent did not start"),
        (FAIL, Replayed(None, (), 0, False), Verdict.REPRODUCED, "as recorded"),
        (FAIL, Replayed(None, (1,), 1, True), Verdict.INVALID, '1 recorded call was not made: put{"b":1}'),
        (FAIL, Replayed(None, (0, 1), 7, True), Verdict.INVALID, "7 recorded calls were not made"),
        (FAIL, None, Verdict.INVALID, "nothing was replayed"),
    ],
)
def test_the_verdict_rests_on_outcome_and_fingerprint(made: Any, followed: Any, verdict: Verdict, words: str) -> None:
    found, reason = judge(FAIL, REPLAY, made, followed)
    assert found is verdict
    assert words in reason


@pytest.mark.parametrize(
    ("followed", "words"),
    [
        (
            missed("get", {"quantity": 2, "sku": "w"}, 0),
            'get{"quantity":2,"sku":"w"}: it was not recorded; the nearest recorded call is '
            'get{"quantity":3,"sku":"w"}, and quantity was 3 there and is 2 now',
        ),
        (missed("take", {"b": 1}, 1), 'take{"b":1}: it was not recorded; the nearest recorded call is put{"b":1}'),
        (missed("get", {}, None), "get{}: nothing like it was recorded"),
        (missed("get", {}, 99), "get{}: nothing like it was recorded"),
        (missed("get", {}, 0, recorded=3), "get{}: it was recorded 3 times, and is made once more"),
        (missed("get", {}, 0, recorded=1), "get{}: it was recorded 1 time, and is made once more"),
        (missed("get", {}, 0, is_too_long=True), "get{}: its recorded answer is too long to be in the record"),
    ],
)
def test_a_miss_is_invalid_and_says_what_differs(followed: Replayed, words: str) -> None:
    assert judge(FAIL, REPLAY, ERROR, followed) == (Verdict.INVALID, words)


def test_the_exit_codes_are_those_of_the_command() -> None:
    assert {verdict.value: verdict.exit_code for verdict in Verdict} == {
        "REPRODUCED": 0,
        "NOT_REPRODUCED": 1,
        "INVALID": 3,
    }


def test_the_record_of_a_replay_names_what_was_missed() -> None:
    miss = missed("get", {}, None).miss
    assert miss is not None
    assert miss_text(miss) == "the recording has no answer to tool 'get'"
