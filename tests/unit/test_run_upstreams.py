"""Outside calls of a trial on the fake back end: what agent and recorder are told, who counts, who is to blame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import anyio
import pytest
from trials import ANSWERED, Starts, first_trial, make_manifest, outcome, setting_of, shell_arms
from upstreams import ScriptedEgress, asks, called, decisions, model

from arci.isolation.base import RunPlan
from arci.isolation.fake import FakeIsolation, GuestPipes, ScriptedTrial
from arci.isolation.fake_guest import Program
from arci.isolation.script import Script, Sleep
from arci.model.manifest import Manifest
from arci.model.trial import Role
from arci.run.egress.egress import Egress
from arci.run.egress.failure import Failure
from arci.run.outside import calls_outside, declared
from arci.run.result import TrialResult
from arci.run.trial import run_trial
from arci.run.upstreams import miscount

pytestmark = pytest.mark.anyio

FAILED = {"type": "upstream_failed", "request": 0, "kind": "connect", "detail": "no connection"}


def experiment(**changes: Any) -> Manifest:
    return make_manifest(**{"models": [model()], "decisions": decisions(), **changes})


async def make(
    script: ScriptedTrial | FakeIsolation,
    egress: ScriptedEgress | None,
    manifest: Manifest | None = None,
    host_env: Mapping[str, str] | None = None,
) -> TrialResult:
    manifest = manifest or experiment()
    isolation = script if isinstance(script, FakeIsolation) else FakeIsolation(script)
    setting = replace(setting_of(manifest, host_env), egress=cast("Egress | None", egress))
    async with isolation.open(RunPlan("run", manifest, 1)) as slots:
        return await run_trial(slots, first_trial(manifest), setting, Starts())


async def test_the_agent_is_given_an_address_and_its_token_and_the_recorder_the_terms() -> None:
    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED]))
    await make(isolation, ScriptedEgress(), experiment(models=[model(key="OPENAI_API_KEY")]), {"OPENAI_API_KEY": "sk"})
    agent = next(guest.process for guest in isolation.started if guest.role is Role.AGENT)
    token = agent.argv[agent.argv.index("--token") + 1]
    assert agent.env["OPENAI_BASE_URL"] == "http://127.0.0.1:47112/up/openai"
    assert agent.env["TYPESAFE_BASE_URL"] == "http://127.0.0.1:47112/up/decisions"
    assert agent.env["OPENAI_API_KEY"] == agent.env["TYPESAFE_API_KEY"] == token


async def test_the_recorder_is_told_the_terms_and_neither_address_nor_key() -> None:
    told: dict[str, Any] = {}

    async def recorder(pipes: GuestPipes) -> int:
        told.update(await pipes.read_frame() or {})
        return 1

    def script(plan: Any, role: Role) -> Program | Script:
        return recorder if role is Role.BOUNDARY else ()

    manifest = experiment(models=[model(key="OPENAI_API_KEY")])
    await make(FakeIsolation(script), ScriptedEgress(), manifest)
    of_model, of_decisions = told["upstreams"]
    prices = {"*": {"input": 1.0, "output": 2.0, "cached_input": 0.5}}
    assert of_model == {
        "name": "openai",
        "kind": "openai",
        "model": "gpt-x",
        "max_body_bytes": 4096,
        "prices": prices,
        "max_decisions": None,
        "fixture": None,
    }
    assert (of_decisions["kind"], of_decisions["max_decisions"]) == ("systemone", 5)
    assert of_decisions["fixture"] == "world:decide"
    budgets = told["budgets"]
    assert (budgets["max_model_calls"], budgets["max_tokens"], budgets["max_usd"]) == (50, None, None)


async def test_a_call_is_handed_on_and_stands_in_the_record_with_what_it_used() -> None:
    egress = ScriptedEgress()
    script = ScriptedTrial(frames=[asks()], events=[*called(), *called(1, injected_by="x", executed=False), ANSWERED])
    result = await make(script, egress)
    assert outcome(result) == "PASS completed None"
    assert [frame["request"] for frame in egress.taken] == [0]
    usage = result.record["usage"]
    assert (usage["model_calls"], usage["input_tokens"], usage["output_tokens"]) == (2, 20, 10)
    assert (usage["cached_input_tokens"], usage["cost_usd"], usage["model_seconds"]) == (4, 0.000021, 2.0)
    facts = result.record["models"]["openai"]
    assert (facts["calls"], facts["host_calls"], facts["latencies_s"], facts["models"]) == (2, 1, [2.0], ["gpt-x"])
    assert result.record["models"]["decisions"]["calls"] == 0


@pytest.mark.parametrize(("frames", "events"), [([asks()], []), ([], called()), ([asks(), asks(1)], called())])
async def test_host_and_recording_must_agree_on_what_went_out(frames: list[Any], events: list[Any]) -> None:
    result = await make(ScriptedTrial(frames=frames, events=[*events, ANSWERED]), ScriptedEgress())
    assert outcome(result) == "ERROR harness harness"
    assert result.record["detail"].startswith("upstream openai: the host was asked for ")


def test_a_decision_counts_as_the_call_of_its_tool_and_a_lookup_is_no_call() -> None:
    decided = {"kind": "tool_finish", "tool": "decision:systemone", "executed": True}
    assert miscount({"decisions": 1}, [decided]) is None
    assert miscount({"decisions": 0}, [{**decided, "executed": False}]) is None
    assert miscount({}, [decided]) is not None
    assert miscount({}, [decided], has_fixture=True) is None


async def test_counting_tokens_and_listing_models_are_no_calls() -> None:
    frames = [asks(path="/v1/messages/count_tokens?beta=true"), asks(1, method="GET", path="/models")]
    result = await make(ScriptedTrial(frames=frames, events=[ANSWERED]), ScriptedEgress())
    assert outcome(result) == "PASS completed None"


async def test_a_request_of_an_agent_that_is_gone_is_counted_and_goes_nowhere() -> None:
    """Its end and its last request come on different connections: the recorder may hear of the end first."""

    class Late(ScriptedTrial):
        async def _finish(self, pipes: GuestPipes) -> int:
            pipes.write_frame(asks())
            for event in called(ok=False, error_kind="cancelled"):
                pipes.write_frame({"type": "event", "event": event})
            return await super()._finish(pipes)

    egress = ScriptedEgress()
    result = await make(Late(events=[ANSWERED], count=3), egress)
    assert outcome(result) == "PASS completed None"
    assert egress.taken == []
    assert result.record["models"]["openai"]["host_calls"] == 1


async def test_an_upstream_that_gives_no_answer_is_the_machines_error_and_names_it() -> None:
    egress = ScriptedEgress(lambda frame: [FAILED], Failure("connect", "no connection"))
    agent: Script = (Sleep(3600),)
    result = await make(ScriptedTrial(frames=[asks()], events=called(executed=False), agent=agent), egress)
    assert outcome(result) == "ERROR harness machine"
    assert result.record["detail"] == "upstream openai: connect: no connection"


async def test_what_the_agent_may_not_ask_is_not_the_machines_error() -> None:
    egress = ScriptedEgress(lambda frame: [{**FAILED, "kind": "refused"}])
    result = await make(ScriptedTrial(frames=[asks()], events=[*called(ok=False), ANSWERED]), egress)
    assert outcome(result) == "PASS completed None"


async def test_where_nothing_may_be_asked_a_request_is_a_harness_error() -> None:
    result = await make(ScriptedTrial(frames=[asks()], events=[ANSWERED]), None)
    assert outcome(result) == "ERROR harness harness"
    assert "may ask nothing outside" in result.record["detail"]


async def test_the_way_out_is_closed_before_the_trial_is_sealed() -> None:
    egress = ScriptedEgress()
    await make(ScriptedTrial(events=[ANSWERED]), egress)
    assert not egress.is_open


@pytest.mark.parametrize("budget", ["max_model_calls", "max_tokens", "max_usd", "max_decisions"])
async def test_a_budget_of_upstreams_that_is_used_up_is_the_agents_failure(budget: str) -> None:
    script = ScriptedTrial(frames=[{"type": "latched", "budget": budget}], agent=(Sleep(3600),))
    result = await make(script, ScriptedEgress())
    assert outcome(result) == "FAIL budget agent"
    assert budget in result.record["detail"]


async def test_the_agents_clock_stands_still_while_a_request_waits_for_its_pace() -> None:
    begun, looks, enough = anyio.current_time(), 0, anyio.Event()

    def paused() -> float:
        nonlocal looks
        looks += 1
        if looks > 8:
            enough.set()
        return anyio.current_time() - begun

    async def agent(pipes: GuestPipes) -> int:
        await enough.wait()
        return 0

    manifest = make_manifest({"max_seconds": 0.001}, models=[model()], arms=shell_arms())
    result = await make(ScriptedTrial(agent=agent), ScriptedEgress(paused=paused), manifest)
    assert outcome(result) == "PASS completed None"
    late = await make(ScriptedTrial(agent=(Sleep(3600),)), ScriptedEgress(), manifest)
    assert outcome(late) == "FAIL timeout agent"


async def test_a_key_that_a_provider_echoes_is_masked_in_all_that_is_kept() -> None:
    events = [*called(text="your key is sk-marker-1234"), ANSWERED]
    manifest = experiment(models=[model(key="OPENAI_API_KEY")])
    script = ScriptedTrial(frames=[asks()], events=events)
    result = await make(script, ScriptedEgress(), manifest, {"OPENAI_API_KEY": "sk-marker-1234"})
    (text,) = [event["text"] for event in result.events if event["kind"] == "model_finish"]
    assert text == "your key is <secret:OPENAI_API_KEY>"
    assert "sk-marker-1234" not in str((result.record, result.events, result.logs))


def test_what_is_called_is_told_in_the_documents_own_form() -> None:
    manifest = experiment()
    assert declared(manifest) == ([model()], decisions())
    assert calls_outside(manifest)
    assert not calls_outside(experiment(models=[]))
    assert calls_outside(experiment(models=[], decisions=decisions(upstream="http", fixture=None)))
