"""`arci preflight` against real local servers: what is asked, what is said of the answers, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from egress_server import KEY, Script, Seen, Server, Wire, decisions, host_env, http, model, serving

from arci.report.endpoints import render_endpoints
from arci.run.endpoints import Examination, examine_endpoints

pytestmark = pytest.mark.anyio

SMOKE = {
    "/v1/chat/completions": {"model": "gpt-x-1", "choices": [{"message": {"content": "ok"}}]},
    "/v1/messages": {"model": "claude", "content": [{"type": "text", "text": "ok"}]},
    "/v1/systemone": {"model": "jev", "answers": {"smoke_noul": {}, "smoke_choice": {}, "smoke_score": {}}},
}
LISTS: dict[str, Any] = {"data": [{"id": "gpt-x"}, {"id": "claude"}], "models": [{"name": "jev"}]}


def provider(**answers: Any) -> Script:
    """Answers by path; `answers`: path -> body, or (status, body)."""

    async def script(seen: Seen, wire: Wire) -> None:
        path = seen.line.split(" ")[1].partition("?")[0]
        found = {"/v1/models": LISTS, **SMOKE, **answers}.get(path, (404, {"error": "no such place"}))
        status, body = found if isinstance(found, tuple) else (200, found)
        await wire.send(http(status, json.dumps(body).encode(), content_type="application/json"))

    return script


async def examined(
    server: Server, tmp_path: Path, *models: Any, of_decisions: Any = None, allow: bool = False
) -> Examination:
    return await examine_endpoints(models, of_decisions, host_env(tmp_path), where="arci.yaml", allow_unlisted=allow)


def states(found: Examination) -> list[str]:
    return [f"{row.upstream} {row.check} {row.state}" for row in found.rows]


async def test_all_kinds_are_asked_for_their_models_and_one_small_question_each(tmp_path: Path) -> None:
    async with serving(provider()) as server:
        root = f"http://127.0.0.1:{server.port}"
        claude = model(server.port, name="claude", kind="anthropic", base_url=root, key=None, model="claude")
        found = await examined(
            server,
            tmp_path,
            model(server.port, model="gpt-x"),
            claude,
            of_decisions=decisions(server.port, model="jev"),
        )
        asked = [seen.line.split(" ")[:2] for seen in server.seen]
        bodies = [json.loads(seen.body) for seen in server.seen if seen.body]
    assert found.exit_code == 0
    assert [row.state for row in found.rows] == ["ok"] * 12
    assert asked == [
        ["GET", "/v1/models"],
        ["POST", "/v1/chat/completions"],
        ["GET", "/v1/models?limit=1000"],
        ["POST", "/v1/messages"],
        ["GET", "/v1/models"],
        ["POST", "/v1/systemone"],
    ]
    assert [body["model"] for body in bodies] == ["gpt-x", "claude", "jev"]
    assert [question["type"] for question in bodies[2]["questions"].values()] == ["noul", "choice", "score"]
    assert KEY not in render_endpoints(found) + json.dumps(found.to_document())


async def test_a_pinned_model_that_is_not_listed_is_4_and_is_not_asked_unless_allowed(tmp_path: Path) -> None:
    async with serving(provider()) as server:
        pinned = model(server.port, model="gpt-y")
        found = await examined(server, tmp_path, pinned)
        assert states(found)[1:] == ["openai endpoint ok", "openai model unlisted"]
        assert found.exit_code == 4
        assert "listed: gpt-x, claude" in found.rows[-1].detail
        allowed = await examined(server, tmp_path, pinned, allow=True)
    assert states(allowed)[2:] == ["openai model skipped", "openai smoke ok"]
    assert allowed.exit_code == 0


async def test_without_a_pinned_model_there_is_no_one_to_ask(tmp_path: Path) -> None:
    async with serving(provider()) as server:
        found = await examined(server, tmp_path, model(server.port))
    assert states(found)[2:] == ["openai model skipped", "openai smoke skipped"]
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("answers", "last", "said"),
    [
        ({"/v1/models": (403, {"error": "no"})}, "openai endpoint failed", "403"),
        ({"/v1/models": [1]}, "openai endpoint failed", "no JSON object"),
        ({"/v1/chat/completions": (400, {"error": "what?"})}, "openai smoke failed", "what?"),
        ({"/v1/chat/completions": {"model": "gpt-x"}}, "openai smoke failed", "no choices"),
        ({"/v1/models": (401, {"error": "bad key"})}, "openai endpoint failed", "refused the key OPENAI_API_KEY"),
    ],
)
async def test_what_answers_wrongly_is_told_with_its_words_and_is_3(
    tmp_path: Path, answers: dict[str, Any], last: str, said: str
) -> None:
    async with serving(provider(**answers)) as server:
        found = await examined(server, tmp_path, model(server.port, model="gpt-x"))
    assert states(found)[-1] == last
    assert said in found.rows[-1].detail
    assert found.exit_code == 3


async def test_nothing_is_called_where_a_host_is_not_allowed(tmp_path: Path) -> None:
    async with serving(provider()) as server:
        stranger = model(server.port, name="stranger", base_url="https://elsewhere.example/v1")
        found = await examined(server, tmp_path, model(server.port), stranger)
        assert server.connections == 0
    assert [row.state for row in found.rows] == ["failed"]
    assert "elsewhere.example is no host" in found.rows[0].detail
    assert found.exit_code == 3


async def test_without_upstreams_there_is_nothing_to_ask() -> None:
    fixture = decisions(1, upstream="fixture")
    found = await examine_endpoints([], fixture, {}, where="arci.yaml")
    assert (found.rows, found.exit_code) == ((), 0)
    assert "nothing is called" in render_endpoints(found)
