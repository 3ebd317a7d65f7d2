"""Tool calls through the engine: numbering, execution, contract and budgets."""

from __future__ import annotations

from typing import Any

import pytest
from engine_driver import Core


def finished(core: Core) -> list[tuple[Any, ...]]:
    return [(e["tool"], e["ok"], e["value"], e["error_kind"], e["executed"]) for e in core.events("tool_finish")]


def test_a_call_is_recorded_executed_and_answered() -> None:
    core = Core().begun()
    agent = core.open()
    core.now_s += 1.5
    core.call(agent, "get", id="x", key="v")
    assert core.asked[0]["params"] == {"name": "get", "arguments": {"key": "v"}}
    core.value({"n": 1})
    assert core.sent(agent) == [
        {
            "jsonrpc": "2.0",
            "id": "x",
            "result": {
                "content": [{"type": "text", "text": '{"n":1}'}],
                "structuredContent": {"result": {"n": 1}},
                "isError": False,
            },
        }
    ]
    identity = {"tool": "get", "call_id": 0, "occurrence": 0, "at_s": 1.5}
    rest = {"ok": True, "value": {"n": 1}, "error_kind": None, "injected_by": None, "executed": True}
    assert core.events() == [
        {"kind": "tool_start", **identity, "arguments": {"key": "v"}},
        {"kind": "tool_finish", **identity, **rest},
    ]


def test_the_environment_gets_ids_of_the_recorders_own() -> None:
    core = Core().begun()
    first, second = core.open(), core.open("mcp")
    core.call(first, id=7)
    core.call(second, id=7)
    core.value("one")
    core.value("two")
    assert [core.sent(c)[0]["id"] for c in (first, second)] == [7, 7]
    assert [core.last(c)["structuredContent"]["result"] for c in (first, second)] == ["one", "two"]


def test_occurrences_count_by_tool_in_order_of_arrival() -> None:
    core = Core().begun()
    agent = core.open()
    for tool in ("get", "put", "get", "nosuch", "get"):
        core.call(agent, tool)
    assert [(e["tool"], e["occurrence"], e["call_id"]) for e in core.events("tool_start")] == [
        *(("get", 0, 0), ("put", 0, 1), ("get", 1, 2), ("nosuch", 0, 3), ("get", 2, 4)),
    ]


def test_calls_are_executed_one_at_a_time() -> None:
    core = Core().begun()
    agent = core.open()
    for id in range(3):
        core.call(agent, id=id)
    assert len(core.asked) == 1
    core.value("a")
    assert len(core.asked) == 1
    core.value("b")
    core.value("c")
    assert [(f["id"], f["result"]["structuredContent"]["result"]) for f in core.sent(agent)] == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
    ]


def test_an_unknown_tool_is_an_error_and_not_executed() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent, "nosuch")
    assert finished(core) == [("nosuch", False, "unknown tool 'nosuch'", "error", False)]
    assert core.kind(agent) == "error"
    assert core.asked == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"result": {"content": [{"type": "text", "text": "ValueError: no"}], "isError": True}}, "ValueError: no"),
        ({"error": "broken"}, "broken"),
        ({"result": 5}, "the environment answered without a result"),
    ],
)
def test_a_failure_of_the_tool_is_data(reply: dict[str, Any], words: str) -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.reply(**reply)
    assert finished(core) == [("get", False, words, "error", True)]
    assert core.last(agent)["content"] == [{"type": "text", "text": words}]
    assert core.told("trouble") == []


# Contract and budgets


@pytest.mark.parametrize(
    ("contract", "tools", "invariant"),
    [
        ({"forbidden_tools": ["put"]}, ["put"], "forbidden_tools"),
        ({"max_calls_per_tool": {"get": 1}}, ["put", "get", "get"], "max_calls_per_tool"),
        ({"max_tool_calls": 1}, ["get", "put"], "max_tool_calls"),
    ],
)
def test_a_violating_call_is_recorded_refused_and_not_executed(
    contract: dict[str, Any], tools: list[str], invariant: str
) -> None:
    core = Core().begun(contract=contract)
    agent = core.open()
    for tool in tools[:-1]:
        core.call(agent, tool)
        core.value(1)
    core.call(agent, tools[-1])
    (violation,) = core.events("violation")
    assert (violation["invariant"], violation["tool"]) == (invariant, tools[-1])
    assert core.kinds()[-3:] == ["tool_start", "violation", "tool_finish"]
    assert (finished(core)[-1][3:], core.kind(agent), core.asked) == (("refused", False), "refused", [])
    assert core.told("latched") == []


def test_a_contract_of_no_calls_allows_none() -> None:
    core = Core().begun(contract={"max_calls_per_tool": {"get": 0}})
    core.call(core.open())
    assert [e["invariant"] for e in core.events("violation")] == ["max_calls_per_tool"]


def test_a_budget_may_be_used_up_and_latches_beyond() -> None:
    core = Core().begun(budgets={"max_tool_calls": 2})
    agent = core.open()
    for _ in range(2):
        core.call(agent)
        core.value(1)
    assert core.told("latched") == []
    core.call(agent)
    assert core.told("latched") == [{"type": "latched", "budget": "max_tool_calls"}]
    assert (core.kind(agent), finished(core)[-1][3:]) == ("budget", ("budget", False))


def test_what_comes_after_the_latch_is_refused_and_leaves_no_trace() -> None:
    core = Core().begun(budgets={"max_tool_calls": 0})
    agent = core.open()
    core.call(agent)
    events = core.events()
    core.call(agent)
    core.send(
        agent, b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":{"summary":"s","facts":{}}}\n'
    )
    assert core.events() == events
    assert core.kind(agent) == "budget"
    assert len(core.told("latched")) == 1


def test_model_steps_latch_too_and_the_worker_is_told() -> None:
    core = Core().begun(budgets={"max_model_steps": 1})
    agent = core.open()
    for _ in range(3):
        core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":{"summary":"s"}}\n')
    assert core.kinds() == ["model_step"]
    assert core.told("latched") == [{"type": "latched", "budget": "max_model_steps"}]
    assert [f["method"] for f in core.sent(agent)] == ["notifications/arci/latched"]
    core.call(agent)
    assert (core.kind(agent), core.asked, core.kinds()) == ("budget", [], ["model_step"])


def test_a_violation_beyond_the_budget_is_both() -> None:
    core = Core().begun(contract={"forbidden_tools": ["put"]}, budgets={"max_tool_calls": 0})
    core.call(core.open(), "put")
    assert core.kinds() == ["tool_start", "violation", "tool_finish"]
    assert core.told("latched") != []
