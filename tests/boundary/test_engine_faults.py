"""Faults, late answers and a dying environment through the engine: actions of a clock, never a sleep."""

from __future__ import annotations

from typing import Any

import pytest
from engine_driver import Core, fault

from arci.boundary.message import Ask, Wake
from arci.faults.action import Replace


def finished(core: Core) -> list[tuple[Any, ...]]:
    return [(e["tool"], e["ok"], e["value"], e["error_kind"], e["executed"]) for e in core.events("tool_finish")]


# Faults


def test_a_timeout_fault_is_an_action_of_the_clock_and_nothing_is_executed() -> None:
    core = Core().begun(faults=[fault("tool_timeout", after_ms=5000)])
    agent = core.open()
    core.call(agent)
    assert core.actions[-1] == Wake(("call", 0), core.now_s + 5)
    assert (core.sent(agent), core.asked) == ([], [])
    core.due("call")
    assert (core.kind(agent), finished(core)[0][3:]) == ("timeout", ("timeout", False))
    (finish,) = core.events("tool_finish")
    assert (finish["injected_by"], finish["at_s"]) == ("tool_timeout", 5.0)
    (injection,) = core.events("injection")
    assert injection == {
        "kind": "injection",
        "fault": "tool_timeout",
        "fault_index": 0,
        "tool": "get",
        "occurrence": 0,
        "call_id": 0,
        "at_s": 0.0,
    }


@pytest.mark.parametrize("name", ["tool_timeout", "tool_error_once"])
def test_a_fault_without_a_wait_answers_at_once_without_execution(name: str) -> None:
    core = Core().begun(faults=[fault(name)])
    agent = core.open()
    core.call(agent)
    assert core.asked == []
    assert core.kind(agent) == ("timeout" if name == "tool_timeout" else "error")
    core.call(agent)
    assert len(core.asked) == 1


def test_a_lost_response_was_executed() -> None:
    core = Core().begun(faults=[fault("lost_response")])
    agent = core.open()
    core.call(agent)
    core.value("done")
    assert (core.kind(agent), finished(core)[0][3:]) == ("timeout", ("timeout", True))
    assert core.kinds() == ["tool_start", "injection", "tool_finish"]


def test_latency_holds_the_answer_and_lets_others_pass() -> None:
    core = Core().begun(faults=[fault("latency", ms=250)])
    agent = core.open()
    core.call(agent, id="slow")
    core.value("late")
    assert core.actions[-1] == Wake(("call", 0), core.now_s + 0.25)
    core.call(agent, id="quick")
    core.value("soon")
    core.due("call")
    assert [f["id"] for f in core.sent(agent)] == ["quick", "slow"]


@pytest.mark.parametrize(
    ("name", "params", "value"),
    [
        ("empty_result", {}, {}),
        ("malformed_result", {}, "<html><body>502 Bad Gateway</body></html>"),
        ("truncated_result", {"keep_bytes": 4}, '{"a"'),
    ],
)
def test_a_rewritten_answer_is_rewritten_in_text_and_structure(name: str, params: dict[str, Any], value: Any) -> None:
    core = Core().begun(faults=[fault(name, **params)])
    agent = core.open()
    core.call(agent)
    core.value({"a": 1})
    assert core.last(agent)["structuredContent"] == {"result": value}
    assert core.last(agent)["content"][0]["text"] == (value if isinstance(value, str) else "{}")
    assert finished(core) == [("get", True, value, None, True)]


def test_a_stale_result_is_what_the_tool_really_said_before() -> None:
    core = Core().begun(faults=[fault("empty_result"), fault("stale_result", n=1)])
    agent = core.open()
    for value in ("first", "second"):
        core.call(agent)
        core.value(value)
    assert [e["value"] for e in core.events("tool_finish")] == ["", "first"]


def test_an_mcp_client_is_not_told_arcis_kind_of_a_failure() -> None:
    core = Core().begun(faults=[fault("tool_error_once")])
    agent = core.open("mcp")
    core.call(agent)
    result = core.last(agent)
    assert (result["isError"], "_meta" in result) == (True, False)
    core.call(agent)
    core.reply({"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": {"trace": 1}})
    assert core.last(agent)["_meta"] == {"trace": 1}


class Breaking:
    def before(self, call: Any, rng: Any) -> None:
        if call.tool == "get":
            raise RuntimeError("boom")

    def after(self, call: Any, answer: Any, rng: Any) -> Any:
        return Replace({1}) if call.tool == "put" else None


@pytest.mark.parametrize(("tool", "executed"), [("get", False), ("put", True)])
def test_a_broken_custom_fault_is_the_environments_trouble(tool: str, executed: bool) -> None:
    core = Core(lambda reference: lambda params: Breaking()).begun(faults=[fault("mine:make", tool=None)])
    agent = core.open()
    core.call(agent, tool)
    if executed:
        core.value(1)
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "trial")
    assert "fault mine:make" in trouble["detail"]
    assert (core.kind(agent), finished(core)[0][4]) == ("environment", executed)


# The environment's time and death


def test_a_call_over_its_time_fails_and_its_late_answer_is_recorded_only() -> None:
    core = Core().begun(budgets={"tool_seconds": 3})
    agent = core.open()
    core.call(agent, id="a")
    id = core.asked.pop()["id"]
    core.due("peer")
    assert core.kind(agent) == "timeout"
    core.call(agent, id="b")
    core.answer(id, {"structuredContent": {"result": "late"}})
    core.value("right")
    assert [f["id"] for f in core.sent(agent)] == ["a", "b"]
    assert core.last(agent)["structuredContent"]["result"] == "right"
    (late,) = core.events("tool_late")
    assert (late["call_id"], late["ok"], late["value"]) == (0, True, "late")


def test_the_time_of_a_call_starts_when_it_is_sent() -> None:
    core = Core().begun(budgets={"tool_seconds": 3})
    agent = core.open()
    core.call(agent)
    core.call(agent)
    core.now_s += 2
    core.value(1)
    assert core.wakes()[-1].at_s == core.now_s + 3


def test_a_timer_of_an_answered_call_changes_nothing() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.value(1)
    core.due("peer")
    assert len(core.sent(agent)) == 1


def test_an_environment_that_dies_fails_open_calls_at_once() -> None:
    core = Core().begun()
    agent = core.open()
    for id in range(3):
        core.call(agent, id=id)
    core.die()
    core.call(agent, id=3)
    assert [f["result"]["_meta"]["arci"]["kind"] for f in core.sent(agent)] == ["environment"] * 4
    assert [e["executed"] for e in core.events("tool_finish")] == [True, False, False, False]
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "trial")
    assert "exit status 3" in trouble["detail"]


def test_an_answer_that_nobody_asked_for_is_recorded_and_dropped() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.answer(999, "x")
    core.value(1)
    core.answer(2, "again")
    assert len(core.sent(agent)) == 1
    assert len(core.events("protocol")) == 2


def test_noise_of_the_environment_is_recorded_and_never_an_answer() -> None:
    from arci.boundary.message import Said

    core = Core().begun()
    agent = core.open()
    core.call(agent)
    for noise in (b"Server ready\n", b"\n", b"\x1b[31mred\x1b[0m\n", b'{"jsonrpc":"2.0","id":2,\n', b"[]\n"):
        core.handle(Said("tools", noise))
    core.value(1)
    assert core.last(agent)["structuredContent"]["result"] == 1
    assert len(core.events("protocol")) == 4


def test_traffic_is_a_budget_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.limits.TRAFFIC_BYTES", 2000)
    core = Core().begun()
    agent = core.open()
    core.call(agent, text="x" * 1000)
    core.value("y" * 1000)
    assert core.told("latched") == [{"type": "latched", "budget": "traffic_bytes"}]
    core.call(agent)
    assert core.kind(agent) == "budget"


def test_every_request_to_the_environment_is_one_line() -> None:
    core = Core().begun()
    core.call(core.open(), text="a\nb\u2028")
    assert all(a.data.count(b"\n") == 1 for a in core.actions if isinstance(a, Ask))
