"""One trial without a run around it, and the tools of an experiment without a trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from runs import condition, fault
from trials import ANSWERED, make_manifest, mcp, mcp_server, shell_arms, snapshot

from arci.errors import ArciError, SpecError, UsageError
from arci.isolation.base import Findings
from arci.isolation.fake import FakeIsolation, ScriptedTrial
from arci.isolation.script import Exit, Print
from arci.model.manifest import Manifest
from arci.model.trial import Role
from arci.run.single import choose_trial, make_one, read_tools

pytestmark = pytest.mark.anyio


class Seen:
    """A witness that keeps everything."""

    def __init__(self) -> None:
        self.printed: dict[tuple[str, str], bytes] = {}
        self.events: list[Mapping[str, Any]] = []

    def output(self, guest: str, stream: str, data: bytes) -> None:
        self.printed[guest, stream] = self.printed.get((guest, stream), b"") + data

    def event(self, event: Mapping[str, Any]) -> None:
        self.events.append(event)


def two_conditions() -> Manifest:
    return make_manifest(conditions=[condition("clean", "clean"), condition("slow", "falsify", fault())])


def test_the_trial_that_is_asked_for_is_the_planned_one() -> None:
    manifest = two_conditions()
    assert choose_trial(manifest, arm="candidate", condition=None, index=0).trial_id == "clean:00000:candidate"
    chosen = choose_trial(manifest, arm="baseline", condition="slow", index=3)
    assert (chosen.trial_id, chosen.seed) == ("slow:00003:baseline", manifest.base_seed + 3)


@pytest.mark.parametrize(
    ("arm", "name", "index", "words"),
    [
        ("neither", None, 0, "baseline, candidate"),
        ("baseline", "fast", 0, "clean, slow"),
        ("baseline", None, 8, "from 0 to 7"),
        ("baseline", None, -1, "from 0 to 7"),
    ],
)
def test_a_trial_that_is_not_planned_is_refused(arm: str, name: str | None, index: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choose_trial(two_conditions(), arm=arm, condition=name, index=index)


async def test_who_watches_sees_output_and_events_as_they_come_without_secrets() -> None:
    manifest = make_manifest(
        environment=mcp(mcp_server(has_image=True)),
        arms=shell_arms(secret_env={"KEY": "HOST_KEY"}),
        secrets=["HOST_KEY"],
    )
    noted = {"kind": "model_step", "summary": "used s3cret-value", "facts": {}}
    script = ScriptedTrial(
        agent=(Print(b"key s3cret-value\n"), Print(b"careful\n", stream="stderr")),
        environment=(Print(b"served\n", stream="stderr"),),
        events=[noted],
        initial_state={},
    )
    seen = Seen()
    trial = choose_trial(manifest, arm="candidate", condition=None, index=1)
    result = await make_one(manifest, FakeIsolation(script), trial, seen, {"HOST_KEY": "s3cret-value"})
    assert (result.record["outcome"], result.record["trial_id"]) == ("PASS", trial.trial_id)
    assert seen.printed["agent", "stdout"] == b"key ************\n"
    assert seen.printed["agent", "stderr"] == b"careful\n"
    assert seen.printed["environment:files", "stderr"] == b"served\n"
    assert [event["kind"] for event in seen.events] == ["model_step"]
    assert "s3cret" not in str(seen.events)


async def test_a_trial_that_fails_is_data_and_a_place_that_is_not_fit_is_an_error() -> None:
    manifest = make_manifest()
    trial = choose_trial(manifest, arm="baseline", condition=None, index=0)
    failed = await make_one(manifest, FakeIsolation(ScriptedTrial(events=[ANSWERED], agent=(Exit(3),))), trial)
    assert failed.record["ending"] == "crash"
    unfit = FakeIsolation(ScriptedTrial(), findings=Findings(problems=("no limits",)))
    with pytest.raises(ArciError, match="no limits"):
        await make_one(manifest, unfit, trial)


async def test_a_secret_that_is_not_there_is_told_before_anything_starts() -> None:
    manifest = make_manifest(arms=shell_arms(secret_env={"KEY": "HOST_KEY"}), secrets=["HOST_KEY"])
    isolation = FakeIsolation(ScriptedTrial())
    with pytest.raises(UsageError, match="HOST_KEY"):
        await make_one(manifest, isolation, choose_trial(manifest, arm="baseline", condition=None, index=0), None, {})
    assert isolation.started == []


async def test_the_tools_are_read_without_any_agent_and_hidden_ones_are_named() -> None:
    takes, reads = snapshot("tool", tool="dump"), snapshot("resource", uri="notes://all")
    servers = mcp_server("files", snapshot=takes), mcp_server("notes", snapshot=reads), mcp_server("clock")
    about = [{"name": "files", "era": "modern", "revision": "2026-07-28", "info": {}}]
    ready = {"type": "ready", "tools": [{"name": "read"}], "servers": about, "listening": []}
    isolation = FakeIsolation(ScriptedTrial(ready=ready, initial_state={"files": {}, "notes": {}, "clock": {}}))
    found = await read_tools(make_manifest(environment=mcp(*servers), arms=shell_arms()), isolation)
    assert (found.tools, found.servers) == (({"name": "read"},), tuple(about))
    assert found.hidden == ("files.dump", "notes://all")
    assert [guest.role for guest in isolation.started] == [Role.BOUNDARY]


async def test_an_environment_that_does_not_stand_is_the_descriptors_problem() -> None:
    death = {"type": "trouble", "blame": "environment", "detail": "no", "phase": "setup", "server": "files"}
    manifest = make_manifest(environment=mcp(mcp_server()), arms=shell_arms())
    with pytest.raises(SpecError) as caught:
        await read_tools(manifest, FakeIsolation(ScriptedTrial(ready=death)))
    assert [problem.path for problem in caught.value.problems] == ["mcp_server.argv"]
    with pytest.raises(ArciError, match="before it said"):
        await read_tools(manifest, FakeIsolation(ScriptedTrial(quits_after="begin")))
