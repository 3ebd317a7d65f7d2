"""What the engine itself answers: MCP clients, workers, and the lines of arci-init."""

from __future__ import annotations

import random
from typing import Any

import pytest
from engine_driver import TOOLS, Core, begin_frame

from arci.boundary.message import Control

# MCP


@pytest.mark.parametrize(
    ("asked", "given"), [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25"), (5, "2025-11-25")]
)
def test_initialize_is_answered_before_the_environment_is_ready(asked: Any, given: str) -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    agent = core.open("mcp")
    core.ask(agent, 0, "initialize", protocolVersion=asked)
    assert core.last(agent)["protocolVersion"] == given
    assert "tools" in core.last(agent)["capabilities"]


def test_the_tools_are_listed_once_they_are_known() -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    agent = core.open("mcp")
    core.ask(agent, 1, "tools/list")
    assert core.sent(agent) == []
    core.reply({})
    core.reply({"tools": TOOLS})
    core.reply({"state": {}})
    assert core.last(agent) == {"tools": TOOLS}
    core.ask(agent, 2, "tools/list")
    assert core.last(agent) == {"tools": TOOLS}


def test_other_methods_are_answered_and_notifications_are_not() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    for method in ("ping", "logging/setLevel"):
        core.ask(agent, 1, method)
        assert core.last(agent) == {}
    for method in ("resources/list", "arci/trial", "server/discover"):
        core.ask(agent, 1, method)
        assert core.last(agent)["code"] == -32601
    before = len(core.sent(agent))
    core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert (len(core.sent(agent)), core.events()) == (before, [])


# Worker


def test_the_worker_gets_the_task_and_a_state_not_the_seed() -> None:
    core = Core().begun()
    agent = core.open()
    core.ask(agent, 1, "arci/trial")
    version, numbers, gauss = core.last(agent)["rng_state"]
    rng = random.Random()
    rng.setstate((version, tuple(numbers), gauss))
    assert rng.random() == random.Random("7:agent").random()
    assert set(core.last(agent)) == {"task", "rng_state"}


def test_the_clock_starts_when_worker_and_environment_are_both_ready() -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    agent = core.open()
    core.ask(agent, 1, "arci/ready")
    assert (core.sent(agent), core.told("status")) == ([], [])
    core.reply({})
    core.reply({"tools": TOOLS})
    core.reply({"state": {}})
    assert core.told("status") == [{"type": "status", "status": "worker_ready"}]
    core.ask(agent, 2, "arci/ready")
    assert (len(core.sent(agent)), len(core.told("status"))) == (2, 1)


def test_the_first_result_counts() -> None:
    core = Core().begun()
    agent = core.open()
    core.ask(agent, 1, "arci/result", claim=[1])
    assert core.last(agent)["code"] == -32602
    core.ask(agent, 1, "arci/result", claim={"a": 1})
    core.ask(agent, 2, "arci/failure", kind="E", message="m")
    assert core.last(agent)["code"] == -32600
    (result,) = core.events("agent_result")
    assert (result["claim"], result["failure"]) == ({"a": 1}, None)


def test_a_failure_is_a_result_too_and_its_text_is_bounded() -> None:
    core = Core().begun()
    agent = core.open()
    core.ask(agent, 1, "arci/failure", kind="E", message=5)
    assert core.last(agent)["code"] == -32602
    core.ask(agent, 1, "arci/failure", kind="E", message="m" * 20_000)
    (result,) = core.events("agent_result")
    assert (result["claim"], len(result["failure"]["message"])) == (None, 10_000)


def test_no_result_is_taken_beyond_a_budget() -> None:
    core = Core().begun(budgets={"max_tool_calls": 0})
    agent = core.open()
    core.call(agent)
    core.ask(agent, 2, "arci/result", claim={"fine": True})
    assert core.last(agent)["message"] == "budget max_tool_calls of 0 is used up"
    assert core.events("agent_result") == []


@pytest.mark.parametrize("params", [b'{"summary":5}', b'{"summary":"s","facts":[]}', b"{}"])
def test_a_malformed_model_step_is_recorded_as_such(params: bytes) -> None:
    core = Core().begun()
    agent = core.open()
    core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":' + params + b"}\n")
    assert core.kinds() == ["protocol"]


# Status


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"started", {"status": "started"}),
        (b"exec-failed 2", {"status": "exec_failed", "errno": 2}),
        (b"ended exit 3 oom=0", {"status": "ended", "code": 3, "oom_kills": 0}),
        (b"ended signal 9 oom=-1", {"status": "ended", "signal": 9, "oom_kills": None}),
        (b"ended exit 0 oom=2 peak=4096", {"status": "ended", "code": 0, "oom_kills": 2, "peak_bytes": 4096}),
    ],
)
def test_a_status_line_becomes_a_frame(line: bytes, fields: dict[str, Any]) -> None:
    core = Core().begun()
    core.send(core.open("status", "s"), line + b"\n")
    assert core.told("status") == [{"type": "status", **fields}]


@pytest.mark.parametrize(
    "line",
    [
        b"ended",
        b"ended exit x oom=0",
        b"ended exit 1 oom",
        b"ended exit 1 oom=0 peak",
        b"ended exit 1 oom=0 peak=x",
        b"started 1",
        b"exec-failed",
        b"\xff",
    ],
)
def test_a_line_that_is_no_status_is_recorded(line: bytes) -> None:
    core = Core().begun()
    core.send(core.open("status", "s"), line + b"\n")
    assert (core.told("status"), core.kinds()) == ([], ["protocol"])


def test_a_status_connection_that_ends_too_early_is_lost() -> None:
    core = Core().begun()
    early, late = core.open("status", "s"), Core().begun()
    core.send(early, b"started\n")
    core.close(early)
    assert core.told("status")[-1] == {"type": "status", "status": "lost"}
    status = late.open("status", "s")
    late.send(status, b"ended exit 0 oom=0\n")
    late.close(status)
    assert [f["status"] for f in late.told("status")] == ["ended"]
