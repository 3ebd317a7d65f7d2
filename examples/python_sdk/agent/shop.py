"""The agent's side of MCP, with the official SDK over Streamable HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client


class ToolError(Exception):
    """The tool said that it failed."""


class Shop:
    def __init__(self, client: Client, order: str) -> None:
        self.client = client
        self.order = order

    async def call(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, {"order": self.order, **arguments})
        if result.is_error:
            raise ToolError(f"{tool}: {result.content}")
        assert result.structured_content is not None
        return result.structured_content["result"]


@asynccontextmanager
async def open_shop() -> AsyncIterator[Shop]:
    order = json.loads(os.environ["ARCI_TASK"])["order"]
    async with Client(os.environ["ARCI_MCP_URL"]) as client:
        yield Shop(client, order)
