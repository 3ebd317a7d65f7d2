"""The client of fastmcp, over the `mcpServers` file or HTTP: `fastmcp_client.py stdio|http`."""

from __future__ import annotations

import sys

import anyio
import seen
from fastmcp import Client
from fastmcp.exceptions import ToolError


async def main(transport: str) -> None:
    async with Client(seen.url() if transport == "http" else seen.config()) as client:
        tools = [tool.name for tool in await client.list_tools()]
        faulted = await called(client, "count", item=seen.ITEM)
        clean = await called(client, "count", item=seen.ITEM)
        ordered = await called(client, "order", item=seen.ITEM, quantity=seen.number(clean["text"]))
        seen.save(client.protocol_version, tools, [faulted, clean, ordered])


async def called(client: Client, tool: str, **arguments: object) -> dict[str, object]:
    try:
        result = await client.call_tool(tool, arguments)
    except ToolError as error:
        return seen.answer(True, str(error))
    return seen.answer(False, "".join(block.text for block in result.content if block.type == "text"))


anyio.run(main, *sys.argv[1:])
