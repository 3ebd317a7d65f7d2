"""Agents that call a model: a real recorder, real processes and a real local provider; keys stay on the host."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, records
from modelserver import KEY, asking, completion, deltas, provider

from arci.isolation.process.native import find_init
from arci.store.reader import read_events

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

ENV = {"OPENAI_API_KEY": KEY}
DOWN = [{"id": "down", "fault": {"name": "model_error", "tool": "model:openai", "bucket": "falsify"}}]


def outcomes(run: Path) -> dict[str, set[str]]:
    """Arm -> outcomes with their endings."""
    found: dict[str, set[str]] = {}
    for record in records(run).values():
        found.setdefault(record["arm"], set()).add(f"{record['outcome']} {record['ending']}")
    return found


def test_a_call_is_made_by_the_host_recorded_and_paid_for(tmp_path: Path) -> None:
    with provider() as server:
        ended = arci("run", asking(tmp_path, server), "--out", tmp_path / "runs", "--json", env=ENV)
        assert server.keys == {f"Bearer {KEY}"}
        assert len(server.seen) == 8
    assert outcomes(ended.run) == {"baseline": {"PASS completed"}, "candidate": {"PASS completed"}}
    for record in records(ended.run).values():
        usage, facts = record["usage"], record["models"]["openai"]
        assert (usage["model_calls"], usage["input_tokens"], usage["output_tokens"]) == (2, 20, 10)
        assert usage["cost_usd"] == pytest.approx(40e-6)
        assert (facts["host_calls"], facts["failed"], len(facts["latencies_s"])) == (2, 0, 2)
    assert len({record["trace_sha256"] for record in records(ended.run).values()}) == 1
    report = arci("report", ended.run).stdout
    assert "4 (2.0 per trial)" in report
    assert [p for p in ended.run.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()] == []
    assert KEY not in ended.stdout + ended.stderr + report


def test_a_retry_that_was_removed_shows_under_a_model_fault(tmp_path: Path) -> None:
    with provider() as server:
        path = asking(tmp_path, server, baseline="patient", conditions=DOWN)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", env=ENV)
        assert len(server.seen) == 4
    assert outcomes(ended.run) == {"baseline": {"PASS completed"}, "candidate": {"FAIL crash"}}
    for record in records(ended.run).values():
        assert [injection["tool"] for injection in record["injections"]] == ["model:openai"]


def test_an_agent_that_calls_without_end_is_cut_at_its_budget_on_both_sides(tmp_path: Path) -> None:
    with provider() as server:
        path = asking(
            tmp_path, server, baseline="greedy", candidate="greedy", budgets={"max_model_calls": 5}, n_per_arm=1
        )
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", env=ENV)
        assert len(server.seen) == 10
    assert outcomes(ended.run) == {"baseline": {"FAIL budget"}, "candidate": {"FAIL budget"}}
    for record in records(ended.run).values():
        assert record["detail"] == "budget max_model_calls was reached"
        assert record["models"]["openai"]["host_calls"] == 5


def test_an_upstream_that_is_broken_is_nobodys_failure(tmp_path: Path) -> None:
    with provider(lambda number, body: (401, {"error": f"no {KEY}"})) as server:
        path = asking(tmp_path, server, n_per_arm=1)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", env=ENV)
    assert ended.exit_code == 3
    for record in records(ended.run).values():
        assert (record["outcome"], record["ending"], record["blame"]) == ("ERROR", "harness", "machine")
        assert record["detail"].startswith("upstream openai: connect: ")
        assert KEY not in record["detail"]


def test_a_key_that_goes_elsewhere_or_is_missing_stops_everything_before_trial_1(tmp_path: Path) -> None:
    with provider() as server:
        elsewhere: dict[str, Any] = {
            "kind": "openai",
            "base_url": "https://elsewhere.example/v1",
            "key": "OPENAI_API_KEY",
        }
        path = asking(tmp_path, server, models={"openai": elsewhere})
        refused = arci("run", path, "--out", tmp_path / "runs", env=ENV)
        assert server.seen == []
    assert refused.exit_code == 64
    assert "elsewhere.example is no host that this machine allows" in refused.stderr
    assert not (tmp_path / "runs").exists()


def test_decisions_of_a_fixture_are_calls_of_a_tool(tmp_path: Path) -> None:
    decisions = {"upstream": "fixture", "fixture": "world.world:decide", "model": "jev"}
    with provider() as server:
        path = asking(tmp_path, server, baseline="decide", candidate="decide", models=None, decisions=decisions)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json")
    assert outcomes(ended.run) == {"baseline": {"PASS completed"}, "candidate": {"PASS completed"}}
    for record in records(ended.run).values():
        assert record["usage"]["tool_calls"] == 3
        assert record["models"]["decisions"]["calls"] == 1


def test_what_a_provider_says_of_the_key_is_masked_in_the_recording(tmp_path: Path) -> None:
    with provider(lambda number, body: (200, completion(f"hello {KEY}"))) as server:
        ended = arci("run", asking(tmp_path, server, n_per_arm=1), "--out", tmp_path / "runs", "--json", env=ENV)
    assert KEY.encode() not in b"".join(p.read_bytes() for p in ended.run.rglob("*") if p.is_file())
    told = [
        event for event in read_events(ended.run, next(iter(records(ended.run)))) if event["kind"] == "model_finish"
    ]
    assert [event["text"] for event in told] == ["hello " + "*" * len(KEY)] * 2


def test_a_streamed_answer_is_handed_on_as_it_comes_and_recorded_whole(tmp_path: Path) -> None:
    """The provider ends the stream when it is asked again, which the agent does when it has read the first piece."""
    was_asked_again = threading.Semaphore(0)

    def pieces() -> Iterator[bytes]:
        first, *rest = deltas("hel", "lo")
        yield first
        assert was_asked_again.acquire(timeout=60)
        yield from rest

    def answer(number: int, body: dict[str, Any]) -> tuple[int, Any]:
        if body.get("stream"):
            return 200, pieces()
        was_asked_again.release()
        return 200, completion()

    with provider(answer) as server:
        path = asking(tmp_path, server, baseline="streaming", candidate="streaming", n_per_arm=1)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", "--workers", 1, env=ENV)
    assert outcomes(ended.run) == {"baseline": {"PASS completed"}, "candidate": {"PASS completed"}}
    for trial in records(ended.run):
        events = [event for event in read_events(ended.run, trial) if event["kind"] == "model_finish"]
        streamed = next(event for event in events if event["occurrence"] == 0)
        assert (streamed["text"], streamed["usage"]["output_tokens"]) == ("hello", 5)
        assert len(streamed["chunks"]) > 1


@pytest.mark.parametrize("budget", [{"max_tokens": 20}, {"max_usd": 25e-6}])
def test_tokens_and_money_are_budgets(tmp_path: Path, budget: dict[str, float]) -> None:
    """A call takes 15 tokens and 20 millionths of a dollar; each agent makes two."""
    with provider() as server:
        path = asking(tmp_path, server, budgets=budget, n_per_arm=1)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", env=ENV)
    assert outcomes(ended.run) == {"baseline": {"FAIL budget"}, "candidate": {"FAIL budget"}}
    assert {record["detail"] for record in records(ended.run).values()} == {f"budget {next(iter(budget))} was reached"}


def test_preflight_tells_whether_the_model_answers(tmp_path: Path) -> None:
    with provider() as server:
        ready = arci("preflight", asking(tmp_path, server), "--json", env=ENV)
        assert [row["state"] for row in ready.json["checks"]] == ["ok"] * 4
        other = {"kind": "openai", "base_url": server.base_url, "model": "gpt-y"}
        unlisted = arci("preflight", asking(tmp_path, server, models={"openai": other}))
        assert (ready.exit_code, unlisted.exit_code) == (0, 4)
        assert "gpt-y is not listed" in unlisted.stdout
        allowed = arci("preflight", tmp_path / "arci.yaml", "--allow-unlisted-model")
        assert allowed.exit_code == 0
        assert server.keys == {f"Bearer {KEY}", ""}
    assert arci("preflight", tmp_path / "arci.yaml").exit_code == 3
