"""An agent of pydantic-ai with its MCP toolset and a scripted model: `pydantic_ai_agent.py stdio|http`."""

from __future__ import annotations

import sys

import anyio
import seen
from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def answers(messages: list[ModelMessage]) -> list[dict[str, object]]:
    """What the model has been shown of its tool calls so far, in order."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [seen.answer(part.outcome != "success", part.content) for part in parts]


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    so_far = answers(messages)
    if len(so_far) < 2:
        return ModelResponse(parts=[ToolCallPart("count", {"item": seen.ITEM})])
    if len(so_far) == 2:
        order = {"item": seen.ITEM, "quantity": seen.number(str(so_far[-1]["text"]))}
        return ModelResponse(parts=[ToolCallPart("order", order)])
    return ModelResponse(parts=[TextPart("done")])


async def main(transport: str) -> None:
    program, *args = seen.command()
    client = Client(seen.url() if transport == "http" else StdioTransport(program, args))
    toolset = MCPToolset(client)
    async with toolset:
        revision = client.protocol_version
        tools = [tool.name for tool in await toolset.list_tools()]
        run = await Agent(FunctionModel(script), toolsets=[toolset]).run("Order all the apples there are.")
    seen.save(revision, tools, answers(run.all_messages()))


anyio.run(main, *sys.argv[1:])
