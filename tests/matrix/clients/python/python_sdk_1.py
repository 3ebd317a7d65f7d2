"""The official Python SDK 1.x: `python_sdk_1.py stdio|http`."""

from __future__ import annotations

import sys

import anyio
import seen
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult


def streams(transport: str):
    program, *args = seen.command()
    if transport == "http":
        return streamable_http_client(seen.url())
    return stdio_client(StdioServerParameters(command=program, args=args))


async def main(transport: str) -> None:
    async with streams(transport) as (read, write, *_), ClientSession(read, write) as session:
        revision = str((await session.initialize()).protocolVersion)
        tools = [tool.name for tool in (await session.list_tools()).tools]
        faulted = shown(await session.call_tool("count", {"item": seen.ITEM}))
        clean = shown(await session.call_tool("count", {"item": seen.ITEM}))
        order = {"item": seen.ITEM, "quantity": seen.number(clean["text"])}
        ordered = shown(await session.call_tool("order", order))
        seen.save(revision, tools, [faulted, clean, ordered])


def shown(result: CallToolResult) -> dict[str, object]:
    return seen.answer(result.isError, "".join(block.text for block in result.content if block.type == "text"))


anyio.run(main, *sys.argv[1:])
