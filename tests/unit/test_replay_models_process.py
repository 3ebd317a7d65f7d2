"""Agents that call a model or ask for a decision, bundled and replayed: nobody is called, and no key is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, records
from modelserver import KEY, Provider, asking, completion, deltas, provider

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

DOWN = [{"id": "down", "fault": {"name": "model_error", "tool": "model:openai", "bucket": "falsify"}}]
DECISIONS = {"upstream": "fixture", "fixture": "world.world:decide", "model": "jev"}
WAYS: list[tuple[str, dict[str, Any], str, str]] = [
    ("run", {}, "clean", "PASS completed"),
    ("run", {"conditions": DOWN}, "down", "FAIL crash"),
    ("patient", {"conditions": DOWN}, "down", "PASS completed"),
    ("streaming", {}, "clean", "PASS completed"),
    ("greedy", {"budgets": {"max_model_calls": 3}}, "clean", "FAIL budget"),
    ("decide", {"models": None, "decisions": DECISIONS}, "clean", "PASS completed"),
]


@pytest.fixture
def server() -> Iterator[Provider]:
    def answer(number: int, body: dict[str, Any]) -> tuple[int, Any]:
        return 200, iter(deltas("hel", "lo")) if body.get("stream") else completion()

    with provider(answer) as found:
        yield found


@pytest.mark.parametrize(("agent", "changes", "condition", "outcome"), WAYS)
def test_what_an_agent_did_with_a_model_is_reproduced_without_it(
    agent: str, changes: dict[str, Any], condition: str, outcome: str, server: Provider, tmp_path: Path
) -> None:
    env = {"OPENAI_API_KEY": KEY, "XDG_DATA_HOME": str(tmp_path / "data")}
    path = asking(tmp_path / "project", server, candidate=agent, n_per_arm=1, **changes)
    ended = arci("run", path, "--out", tmp_path / "runs", "--json", env=env)
    trial = f"{condition}:00000:candidate"
    record = records(ended.run)[trial]
    assert f"{record['outcome']} {record['ending']}" == outcome
    bundle = tmp_path / "failure.arci"
    packed = arci("bundle", ended.run, trial, "--out", bundle, env=env)
    assert packed.exit_code == 0, packed.stderr
    asked = len(server.seen)
    replayed = arci("replay", bundle, "--json", env={**env, "OPENAI_API_KEY": None})
    assert (replayed.exit_code, replayed.json["verdict"]) == (0, "REPRODUCED"), replayed
    # Whether a stream ends before or after what its reader does meanwhile is a matter of luck: no order is compared.
    assert replayed.json["same_trace"] is True or agent == "streaming"
    assert len(server.seen) == asked
    assert KEY.encode() not in bundle.read_bytes()
