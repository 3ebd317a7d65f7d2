"""Tools that faults and the contract name and that are not there: what refuses a run, what only warns, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import condition, fault, manifest_document
from trials import make_manifest
from upstreams import decisions

from arci.errors import SpecError
from arci.isolation.base import Findings
from arci.isolation.fake import FakeIsolation, ScriptedTrial
from arci.isolation.script import Sleep
from arci.run.preflight import preflight
from arci.run.tool_names import Offer, offer_of, tool_problems

pytestmark = pytest.mark.anyio


def server(name: str, *tools: str, **capabilities: Any) -> dict[str, Any]:
    return {"name": name, "tools": list(tools), "capabilities": {"tools": capabilities}}


SHOP = server("tools", "charge", "refund")


def standing(*servers: dict[str, Any]) -> FakeIsolation:
    """An environment of servers that have no tool in common."""
    tools = [{"name": name} for told in servers for name in told["tools"]]
    ready = {"type": "ready", "tools": tools, "servers": list(servers), "listening": ["unix:/x", "tcp:127.0.0.1:1"]}
    return FakeIsolation(ScriptedTrial(ready=ready, agent=(Sleep(3600),)))


async def check(*servers: dict[str, Any], **changes: Any) -> Findings:
    return await preflight(make_manifest(**changes), standing(*servers or (SHOP,)), "run", host_env={})


async def refusals(*servers: dict[str, Any], **changes: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        await check(*servers, **changes)
    return [f"{problem.path}: {problem.message} {problem.hint}" for problem in caught.value.problems]


def disturbing(tool: str | None, name: str = "tool_timeout") -> list[dict[str, Any]]:
    return [condition("clean", "clean"), condition("c", "falsify", fault(tool="charge"), fault(name, tool=tool))]


def contract(**changes: Any) -> dict[str, Any]:
    return {**manifest_document()["contract"], **changes}


async def test_a_fault_on_a_tool_that_nobody_has_refuses_the_run_once_and_says_what_there_is() -> None:
    assert await refusals(conditions=disturbing("charg")) == [
        "conditions[1].faults[1].tool: 'charg' is a tool that no server has; allowed: charge, refund. "
        "did you mean 'charge'?"
    ]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("charge", "tool_timeout"),
        ("tools.charge", "latency"),
        (None, "tool_timeout"),
        ("model:openai", "model_error"),
        ("decision:systemone", "decision_unavailable"),
        ("charge", "faults:mine"),
    ],
)
async def test_what_a_fault_may_name_is_accepted(tool: str | None, name: str) -> None:
    findings = await check(conditions=disturbing(tool, name))
    assert not [warning for warning in findings.warnings if "no server" in warning]


async def test_a_custom_fault_is_held_to_the_tools_there_are_too() -> None:
    assert len(await refusals(conditions=disturbing("charg", "faults:mine"))) == 1


async def test_a_required_tool_that_nobody_has_refuses_the_run() -> None:
    assert await refusals(contract=contract(required_tools=["refund", "refnd"])) == [
        "contract.required_tools[1]: 'refnd' is a tool that no server has; allowed: charge, refund. "
        "did you mean 'refund'?"
    ]


async def test_a_guard_against_a_tool_that_nobody_has_is_worth_a_warning() -> None:
    """An agent that asks for it breaks the contract all the same, so it may be meant."""
    findings = await check(contract=contract(forbidden_tools=["refund", "chrge"], max_calls_per_tool={"bash": 0}))
    told = [warning for warning in findings.warnings if "no server has" in warning]
    assert [warning.split(": ")[1] for warning in told] == [
        "contract.forbidden_tools[1]",
        "contract.max_calls_per_tool.bash",
    ]
    assert "did you mean 'charge'?" in told[0]


@pytest.mark.parametrize("key", ["forbidden_tools", "required_tools"])
async def test_a_decision_may_stand_in_a_contract_where_there_are_decisions(key: str) -> None:
    listed = contract(**{key: ["decision:systemone"]})
    assert "'decision:systemone' is a tool that no server has" in await told_or_refused(contract=listed)
    assert "no server has" not in await told_or_refused(contract=listed, decisions=decisions())


async def told_or_refused(**changes: Any) -> str:
    try:
        return "\n".join((await check(**changes)).warnings)
    except SpecError as error:
        return str(error)


async def test_where_a_server_may_change_its_tools_a_name_that_is_not_there_yet_only_warns() -> None:
    changing = server("shop", "charge", listChanged=True)
    conditions, required = disturbing("later"), contract(required_tools=["later"])
    findings = await check(changing, conditions=conditions, contract=required)
    told = [warning for warning in findings.warnings if "'later'" in warning]
    assert len(told) == 2
    assert all("perhaps it comes later, since shop may change what tools there are (listChanged)" in t for t in told)
    assert len(await refusals(server("shop", "charge", listChanged=False), conditions=conditions)) == 1


async def test_where_tasks_differ_tools_may_too() -> None:
    tasks = [{"id": "one", "task": {}}, {"id": "two", "task": {}}]
    findings = await check(conditions=disturbing("charg"), tasks=tasks)
    assert any("'charg'" in w and "tasks may differ in their tools" in w for w in findings.warnings)


async def test_an_environment_without_tools_says_so() -> None:
    (told,) = await refusals(server("tools"), conditions=[condition("c", "falsify", fault(tool="charge"))])
    assert "there are no tools at all" in told


def test_a_name_that_several_servers_have_must_say_whose_it_is() -> None:
    manifest = make_manifest(
        conditions=[condition("c", "falsify", fault(tool="get"), fault(tool="b.get"), fault(tool="a.one"))]
    )
    offer = offer_of(
        manifest, [{"name": n} for n in ("a.get", "one", "b.get")], [server("a", "get", "one"), server("b", "get")]
    )
    (finding,) = tool_problems(manifest, offer)
    assert finding.path == ("conditions", 0, "faults", 0, "tool")
    assert "allowed: a.get, one, b.get." in finding.message
    assert finding.hint in ("did you mean 'a.get'?", "did you mean 'b.get'?")


def test_of_a_thousand_tools_the_first_are_listed_and_the_nearest_is_found() -> None:
    names = tuple(f"tool_{number}" for number in range(1000))
    wrong = Offer(names, frozenset(names), None).missing("tol_999")
    assert wrong is not None
    assert "tool_29 and 970 more (arci tools lists them)." in wrong[0]
    assert wrong[1] == "did you mean 'tool_999'?"


async def test_a_refusal_names_the_line_of_the_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "arci.yaml"
    path.write_text(
        "experiment_id: synthetic\nconditions:\n- id: c\n  fault:\n    name: tool_timeout\n    tool: charg\n"
    )
    volatile = {"descriptor": str(path)}
    with pytest.raises(SpecError) as caught:
        await check(conditions=[condition("c", "falsify", fault(tool="charg"))], volatile=volatile)
    (problem,) = caught.value.problems
    assert (problem.where, problem.path) == (f"{path}:6", "conditions[0].fault.tool")
    findings = await check(contract=contract(forbidden_tools=["x"]), volatile=volatile)
    assert [w for w in findings.warnings if w.startswith(f"{path}:1: contract.forbidden_tools[0]: 'x' ")]
