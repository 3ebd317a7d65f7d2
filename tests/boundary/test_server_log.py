"""What an MCP server writes to its stderr is always read and kept in bounds: nobody waits for it (N29)."""

from __future__ import annotations

from typing import Any

import pytest
from small_server import SERVER

LOUD = 'return {"echo": arguments}'
LOUDER = """sys.stderr.write("x" * MIB + json.dumps(arguments) + "\\n")
    sys.stderr.flush()
    return {"echo": len(arguments["text"])}"""


@pytest.mark.parametrize("size", [10, 32 * 1024, 1 << 20])
def test_a_server_that_logs_a_megabyte_and_its_arguments_in_each_call_answers_each(bench: Any, size: int) -> None:
    assert LOUD in SERVER
    recorder = bench.ready(servers=[bench.script("loud", SERVER.replace(LOUD, LOUDER))])
    agent = recorder.connect(b"ARCI mcp agent-token loud\n")
    for _ in range(5):
        assert agent.call("echo", text="y" * size)["structuredContent"] == {"echo": size}
    recorder.finish()
    assert recorder.close() == 0
    assert [event["ok"] for event in recorder.events("tool_finish")] == [True] * 5
    assert 200_000 < len(recorder.log()) < 400_000
