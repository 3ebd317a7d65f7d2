"""Names of tools among several servers, and of what the agent may not see."""

from __future__ import annotations

import pytest
from mcp_driver import Fleet, server

from arci.boundary.names import Names, plain_uri


def found(names: Names, server: str | None, tool: str) -> tuple[str, str, str] | None:
    target = names.resolve(server, tool)
    return None if target is None else (target.server, target.name, target.key)


NAMES = Names({"git": ["status", "log"], "db": ["status", "query", "git.log"], "x": []})


@pytest.mark.parametrize(
    ("server", "tool", "target"),
    [
        (None, "query", ("db", "query", "query")),
        (None, "log", ("git", "log", "log")),
        (None, "status", None),
        (None, "git.status", ("git", "status", "git.status")),
        (None, "db.query", ("db", "query", "query")),
        ("db", "status", ("db", "status", "db.status")),
        ("db", "db.status", ("db", "status", "db.status")),
        ("git", "db.status", None),
        ("db", "git.log", ("db", "git.log", "db.git.log")),
        (None, "git.log", ("git", "log", "log")),
        (None, "db.git.log", ("db", "git.log", "db.git.log")),
        (None, "nosuch", None),
        (None, "nosuch.status", None),
        ("nosuch", "status", None),
    ],
)
def test_a_name_means_one_tool_or_none(server: str | None, tool: str, target: tuple[str, str, str] | None) -> None:
    assert found(NAMES, server, tool) == target


def test_no_two_tools_are_recorded_under_one_key() -> None:
    keys = [
        NAMES.key(s, t)
        for s, tools in {"git": ["status", "log"], "db": ["status", "query", "git.log"]}.items()
        for t in tools
    ]
    assert len(set(keys)) == len(keys)


def test_the_agent_sees_shared_names_qualified_where_it_sees_all_servers() -> None:
    fleet = Fleet(server("one"), server("two", snapshot={"kind": "tool", "tool": "dump"})).begun()
    fleet.text("{}", "two")
    servers = fleet.servers_of()
    assert [t["name"] for t in servers.tools(None)] == ["one.get", "one.put", "dump", "two.get", "two.put"]
    assert [t["name"] for t in servers.tools("two")] == ["get", "put"]
    assert servers.canonical("two.get") == "two.get"
    assert servers.canonical("one.dump") == "dump"
    assert servers.canonical("get") == "get"
    assert (servers.resolve("two", "dump"), servers.resolve(None, "two.dump")) == (None, None)
    assert servers.is_hidden_tool("two", "dump")
    assert servers.is_hidden_tool(None, "two.dump")
    assert not servers.is_hidden_tool("one", "dump")


def test_a_fault_on_a_qualified_name_meets_that_server_alone() -> None:
    fleet = Fleet(server("one"), server("two"))
    fleet.begun(faults=[{"name": "tool_timeout", "tool": "two.get", "params": {}}])
    agent = fleet.open()
    fleet.call(agent, "one.get")
    assert fleet.methods("one")[-1] == "tools/call"
    fleet.call(agent, "two.get")
    assert "tools/call" not in fleet.methods("two")
    assert [e["tool"] for e in fleet.events("injection")] == ["two.get"]


def test_a_toolset_takes_any_name_before_it_is_ready() -> None:
    from engine_driver import Core, begin_frame

    from arci.boundary.message import Control

    core = Core()
    core.handle(Control(begin_frame()))
    assert core.engine._trial is not None
    target = core.engine._trial.servers.resolve(None, "anything")
    assert target is not None
    assert (target.server, target.key) == ("tools", "anything")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("file:///a/b", "FILE:///a/%62", True),
        ("s://Host/p", "s://host/p", True),
        ("s://host/P", "s://host/p", False),
        ("s://host/p", "s://host/p#x", True),
        ("s://host/p", "s://host/p/", True),
        ("s://host/p?q=1", "s://host/p", False),
        ("note:1", "note:2", False),
        ("s://h/%zz%4", "s://h/%zz%4", True),
    ],
)
def test_a_uri_may_be_spelled_in_several_ways(one: str, other: str, is_same: bool) -> None:
    assert (plain_uri(one) == plain_uri(other)) is is_same
