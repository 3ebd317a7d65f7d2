"""Agents in containers that call a model: the host makes the call, and no container ever has the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import docker.errors
import pytest
from e2e import arci, records
from modelserver import KEY, asking, completion, provider

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN

pytestmark = pytest.mark.timeout(300)


def test_no_container_has_the_key_while_the_host_calls_with_it(tmp_path: Path, engine: Engine) -> None:
    inspected: list[str] = []

    def answer(number: int, body: dict[str, Any]) -> tuple[int, Any]:
        for container in engine.api.containers(filters={"label": [RUN]}):
            try:
                facts = (
                    engine.api.inspect_container(container["Id"]),
                    engine.api.top(container["Id"], "axeww"),
                )
            except docker.errors.APIError:  # one of another run that ends meanwhile
                continue
            inspected.append(json.dumps(facts))
        return 200, completion()

    with provider(answer) as server:
        path = asking(tmp_path, server, isolation="docker", n_per_arm=1)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", env={"OPENAI_API_KEY": KEY})
        assert server.keys == {f"Bearer {KEY}"}
    assert {record["outcome"] for record in records(ended.run).values()} == {"PASS"}, ended.stderr
    assert any("OPENAI_API_KEY=" in facts for facts in inspected)  # the agent's token stands where a key would
    assert [facts for facts in inspected if KEY in facts] == []
    assert KEY.encode() not in b"".join(p.read_bytes() for p in ended.run.rglob("*") if p.is_file())
    assert KEY not in ended.stdout + ended.stderr
