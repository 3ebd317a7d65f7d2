"""The official Python SDK 2.x: `python_sdk_2.py stdio|http auto|legacy|REVISION`."""

from __future__ import annotations

import sys

import anyio
import seen
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult


async def main(transport: str, mode: str) -> None:
    program, *args = seen.command()
    server = seen.url() if transport == "http" else StdioServerParameters(command=program, args=args)
    async with Client(server, mode=mode) as client:
        if mode not in ("auto", "legacy"):  # a pinned client calls at once; what discovery answers is asked for here
            await client.session.send_discover(mode)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        faulted = shown(await client.call_tool("count", {"item": seen.ITEM}))
        clean = shown(await client.call_tool("count", {"item": seen.ITEM}))
        order = {"item": seen.ITEM, "quantity": seen.number(clean["text"])}
        ordered = shown(await client.call_tool("order", order))
        seen.save(client.protocol_version, tools, [faulted, clean, ordered])


def shown(result: CallToolResult) -> dict[str, object]:
    return seen.answer(result.is_error, "".join(block.text for block in result.content if block.type == "text"))


anyio.run(main, *sys.argv[1:])
