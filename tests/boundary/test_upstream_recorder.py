"""Upstreams of a real recorder: streams over a socket as they come, a fixture in a process of its own."""

from __future__ import annotations

import base64
import json
from http.client import HTTPConnection
from typing import Any

import pytest
from small_host import DEADLINE_S
from test_server_process import SHARED, UID, needs_users
from upstream_driver import ANTHROPIC, CHAT, DECISION, OPENAI, SYSTEMONE, body_of

FIXTURE = """
import os, sys

print("loaded", os.getpid())

def decide(request, seed, occurrence):
    print("deciding")
    sys.stdout.flush()
    answers = {}
    for name, question in request["questions"].items():
        if question["type"] == "noul":
            answers[name] = {"type": "noul", "noul": occurrence / 10}
        else:
            options = list(question["criteria"]) if question["type"] == "choice" else ["0", "1", "2"]
            spread = {option: float(option == options[0]) for option in options}
            answers[name] = {"type": question["type"], "choice": options[0], "score": seed, "probabilities": spread}
    return {"answers": answers}
"""


@pytest.fixture
def recorder(bench: Any) -> Any:
    bench.write("fix", FIXTURE)
    recorder = bench.recorder()
    upstreams = [OPENAI, ANTHROPIC, {**SYSTEMONE, "fixture": "fix:decide"}]
    recorder.begin(listen=[recorder.address, "tcp:127.0.0.1:0"], upstreams=upstreams, budgets={"max_model_calls": 9})
    recorder.port = int(recorder.until("ready")["listening"][1].rpartition(":")[2])
    return recorder


def post(recorder: Any, path: str, body: Any) -> HTTPConnection:
    client = HTTPConnection("127.0.0.1", recorder.port, timeout=DEADLINE_S)
    client.request("POST", path, json.dumps(body), {"Authorization": "Bearer agent-token"})
    return client


def answer(recorder: Any, request: int, kind: str, *pieces: bytes) -> None:
    recorder.say(type="upstream_head", request=request, status=200, headers=[["content-type", kind]])
    for piece in pieces:
        recorder.say(type="upstream_chunk", request=request, data=base64.b64encode(piece).decode())


def test_a_piece_of_a_stream_arrives_while_the_next_is_not_there_yet(recorder: Any) -> None:
    stream = body_of("openai-text.sse")
    client = post(recorder, "/up/openai/chat/completions", {**CHAT, "stream": True})
    request = recorder.until("upstream_request")["request"]
    answer(recorder, request, "text/event-stream", stream[:100])
    response = client.getresponse()
    assert response.read1(100) == stream[:100]
    recorder.say(type="upstream_chunk", request=request, data=base64.b64encode(stream[100:]).decode())
    recorder.say(type="upstream_end", request=request)
    assert response.read() == stream[100:]
    client.close()
    recorder.finish()
    assert [e["kind"] for e in recorder.events()] == ["model_start", "model_finish"]


def test_a_client_that_goes_away_is_noticed_while_the_upstream_is_silent(recorder: Any) -> None:
    client = post(recorder, "/up/openai/chat/completions", CHAT)
    recorder.until("upstream_request")
    client.close()
    assert recorder.until("upstream_cancel")["request"] == 0
    recorder.finish()
    assert recorder.events("model_finish")[0]["error_kind"] == "cancelled"


def test_a_fixture_decides_in_a_process_whose_prints_are_no_frames(recorder: Any) -> None:
    client = HTTPConnection("127.0.0.1", recorder.port, timeout=DEADLINE_S)
    for occurrence in range(3):
        client.request("POST", "/agent-token/up/decisions/v1/systemone", json.dumps(DECISION))
        answers = json.loads(client.getresponse().read())["answers"]
        assert (answers["urgent"]["noul"], answers["anger"]["score"]) == (occurrence / 10, 7)
    client.close()
    recorder.finish()
    assert [e["ok"] for e in recorder.events("tool_finish")] == [True] * 3
    recorder.close()
    assert recorder.log().count("deciding") == 3


def test_a_fixture_that_cannot_be_imported_is_trouble_at_once(bench: Any) -> None:
    bench.write("fix", "import nosuchmodule")
    recorder = bench.recorder()
    recorder.begin(upstreams=[{**SYSTEMONE, "fixture": "fix:decide"}])
    assert "decision fixture" in recorder.until("trouble", blame="environment")["detail"]
    recorder.close()
    assert "nosuchmodule" in recorder.log()


def test_a_slow_reader_of_a_long_stream_gets_every_byte(recorder: Any) -> None:
    piece = b"data: " + b"x" * 65000 + b"\n\n"
    client = post(recorder, "/up/openai/chat/completions", {**CHAT, "stream": True})
    recorder.until("upstream_request")
    answer(recorder, 0, "text/event-stream", *[piece] * 100)
    recorder.say(type="upstream_end", request=0)
    response = client.getresponse()
    total = 0
    while data := response.read1(1000):
        total += len(data)
    assert total == 100 * len(piece)
    client.close()
    recorder.finish()
    assert sum(recorder.events("model_finish")[0]["chunks"]) == total


@needs_users
def test_the_end_of_a_fixture_leaves_a_toolset_of_the_same_user_alone(bench: Any) -> None:
    for directory in (bench.directory, *bench.directory.parents[:2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    bench.write("fix", FIXTURE.replace('"noul": occurrence / 10', f'"noul": float(os.getuid() == {UID})'))
    recorder = bench.recorder(uid=UID, python=SHARED)
    recorder.begin(listen=[recorder.address, "tcp:127.0.0.1:0"], upstreams=[{**SYSTEMONE, "fixture": "fix:decide"}])
    recorder.port = int(recorder.until("ready")["listening"][1].rpartition(":")[2])
    client = post(recorder, "/agent-token/up/decisions/v1/systemone", DECISION)
    answers = json.loads(client.getresponse().read())["answers"]
    client.close()
    assert answers["urgent"]["noul"] == 1.0
    assert recorder.finish()["stock"] == 10
