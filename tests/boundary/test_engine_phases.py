"""The engine from `begin` to `end`: getting ready, what goes wrong there, draining, the final state."""

from __future__ import annotations

from typing import Any

import pytest
from engine_driver import TOOLS, Core, begin_frame

from arci.boundary.message import (
    Close,
    Control,
    EndInput,
    Exit,
    Listen,
)

# Setup


def test_begin_listens_then_starts_the_environment_with_task_and_seed() -> None:
    core = Core()
    actions = core.handle(Control(begin_frame()))
    assert actions[0] == Listen(["unix:/s"])
    assert (core.asked[0]["method"], core.asked[0]["params"]) == ("arci/start", {"task": {"k": 1}, "seed": 7})
    core.reply({})
    core.reply({"tools": TOOLS})
    assert core.told("ready") == []
    core.reply({"state": {"x": 0}})
    (ready,) = core.told("ready")
    assert ready["tools"] == TOOLS
    assert [(s["name"], s["era"]) for s in ready["servers"]] == [("tools", "legacy")]
    assert ready["listening"] == ["unix:/s"]
    assert core.told("initial_state") == [{"type": "initial_state", "state": {"x": 0}}]


@pytest.mark.parametrize("step", ["start", "tools"])
@pytest.mark.parametrize("how", ["error", "late", "dead", "odd"])
def test_an_environment_that_does_not_start_is_trouble_once_and_holds_nobody(step: str, how: str) -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    worker, client = core.open(), core.open("mcp")
    core.ask(worker, 1, "arci/ready")
    core.ask(client, 1, "tools/list")
    if step == "tools" or how == "odd":
        core.reply({})
    if how == "error":
        core.reply(error="toolset: ImportError: no module")
    elif how == "late":
        core.due("peer")
    elif how == "dead":
        core.die()
    else:
        core.reply({"tools": "none"})
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "setup")
    assert core.told("ready") == core.told("status") == []
    assert "did not start" in core.last(worker)["message"]
    assert "did not start" in core.last(client)["message"]


def test_an_environment_that_died_before_begin_is_reported_once() -> None:
    core = Core()
    core.die()
    core.handle(Control(begin_frame()))
    assert [t["detail"] for t in core.told("trouble")] == ["the environment ended by itself: exit status 3"]


@pytest.mark.parametrize("error", [ImportError("no module named mine"), ValueError("bad params")])
def test_a_custom_fault_that_cannot_be_made_is_trouble_in_setup(error: Exception) -> None:
    def load(reference: str) -> Any:
        raise error

    core = Core(load)
    core.handle(Control(begin_frame(faults=[{"name": "mine:make", "params": {}}])))
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "setup")
    assert str(error) in trouble["detail"]


@pytest.mark.parametrize("frame", [{"type": "begin"}, {"type": "other"}, {}, {"type": "agent_gone"}])
def test_a_control_frame_that_makes_no_sense_is_the_harness_trouble(frame: dict[str, Any]) -> None:
    core = Core()
    core.handle(Control(frame))
    assert [t["blame"] for t in core.told("trouble")] == ["harness"]


def test_stop_exits() -> None:
    assert Core().handle(Control({"type": "stop"})) == [Exit(0)]


# The end


def test_the_end_waits_for_connections_then_takes_the_state_and_counts() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.value(1)
    core.agent_gone()
    assert core.told("end") == []
    core.call(agent)
    core.close(agent)
    assert core.asked[0]["method"] == "tools/call"
    core.value(2)
    core.reply({"state": {"x": 1}})
    assert core.told("final_state") == [{"type": "final_state", "state": {"x": 1}}]
    assert core.told("end") == [{"type": "end", "count": 4}]
    assert core.actions.count(EndInput("tools")) == 1
    assert [e["value"] for e in core.events("tool_finish")] == [1, 2]
    core.die()
    assert core.told("trouble") == []


def test_what_was_not_sent_when_the_agent_went_is_not_executed() -> None:
    core = Core().begun()
    agent = core.open()
    for _ in range(3):
        core.call(agent)
    core.close(agent)
    core.agent_gone()
    core.value("done")
    assert [r["method"] for r in core.asked] == ["arci/snapshot"]
    assert [(e["call_id"], e["ok"], e["executed"]) for e in core.events("tool_finish")] == [
        *((1, False, False), (2, False, False), (0, True, True)),
    ]


def test_a_connection_that_stays_open_is_ended_after_the_drain() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.agent_gone()
    core.due("drain")
    assert core.is_closed(agent)
    assert [r["method"] for r in core.asked] == ["tools/call", "arci/snapshot"]
    assert [e["error_kind"] for e in core.events("tool_finish")] == ["timeout"]
    core.asked.pop(0)
    core.reply({"state": {}})
    assert len(core.told("end")) == 1


def test_an_answer_that_a_fault_holds_is_recorded_at_the_end() -> None:
    core = Core().begun(faults=[{"name": "latency", "params": {"ms": 60_000}}])
    agent = core.open()
    core.call(agent)
    core.value("v")
    core.close(agent)
    core.agent_gone()
    assert [e["value"] for e in core.events("tool_finish")] == ["v"]
    core.due("call")
    assert len(core.events("tool_finish")) == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"error": "KeyError: 'x'"}, "snapshot: KeyError: 'x'"),
        ({"result": {"state": [1]}}, "snapshot: no JSON object"),
        ({"result": 5}, "snapshot: no JSON object"),
        (None, "snapshot: no answer within 30 s"),
    ],
)
def test_a_state_that_cannot_be_had_is_trouble_and_the_end_comes_all_the_same(reply: Any, words: str) -> None:
    core = Core().begun()
    core.agent_gone()
    if reply is None:
        core.due("peer")
    else:
        core.reply(**reply)
    assert [(t["blame"], t["detail"]) for t in core.told("trouble")] == [("environment", words)]
    assert (core.told("final_state"), core.told("end")) == ([], [{"type": "end", "count": 0}])


def test_a_dead_environment_has_no_state_but_the_trial_has_an_end() -> None:
    core = Core().begun()
    core.die()
    core.agent_gone()
    assert (len(core.told("trouble")), core.told("final_state")) == (1, [])
    assert core.told("end") == [{"type": "end", "count": 0}]


def test_the_environment_may_die_while_its_state_is_taken() -> None:
    core = Core().begun()
    core.agent_gone()
    core.die()
    assert (len(core.told("trouble")), len(core.told("end"))) == (1, 1)


def test_agent_gone_twice_is_one_end() -> None:
    core = Core().begun()
    core.agent_gone()
    core.agent_gone()
    core.reply({"state": {}})
    assert len(core.told("end")) == 1


def test_closing_tells_the_loop_once() -> None:
    core = Core().begun()
    agent = core.open("mcp", "wrong")
    core.close(agent)
    assert core.actions.count(Close(agent)) == 1
