"""What the how-to pages show of servers and agents, put together and run."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import files, page, write
from e2e import arci, records
from trust import build_trust

pytestmark = pytest.mark.timeout(900)

AGENT = """
import os

import anyio
from mcp import Client


async def main():
    async with Client(os.environ["ARCI_MCP_URL"]) as client:
        price = (await client.call_tool("get_price", {})).structured_content["result"]
        result = await client.call_tool("charge", {"amount": price})
        if result.is_error and AGAIN:
            await client.call_tool("charge", {"amount": price})


anyio.run(main)
"""


def test_the_server_of_the_page_runs_and_its_hidden_tool_gives_the_state(tmp_path: Path) -> None:
    shown = files(page("docs/how-to/bring-your-own-mcp-server.md"))
    write(tmp_path, shown)
    for arm, again in (("before", "False"), ("after", "True")):
        code = {"agent.py": AGENT.replace("AGAIN", again), "requirements.txt": shown["server/requirements.txt"]}
        write(tmp_path / arm, code)
    ended = arci("run", tmp_path / "arci.yaml", "--n", 1, "--out", tmp_path / "runs", "--json", env=build_trust())
    assert ended.stdout, ended.stderr
    found = {record["arm"]: record for record in records(ended.run).values()}
    assert {arm: record["outcome"] for arm, record in found.items()} == {"baseline": "PASS", "candidate": "FAIL"}
    price = found["baseline"]["final_state"]["price"]
    assert found["candidate"]["final_state"] == {"price": price, "charges": [price, price]}
    assert found["candidate"]["initial_state"] == {"price": price, "charges": []}
