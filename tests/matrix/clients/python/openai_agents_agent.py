"""An agent of openai-agents with an MCP server and a scripted model: `openai_agents_agent.py stdio|http`."""

from __future__ import annotations

import json
import sys

import anyio
import seen
from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Script(Model):
    """A model that counts, counts again, orders what it was told, and is done."""

    async def get_response(self, system_instructions, input, *args, **kwargs) -> ModelResponse:
        so_far = outputs(input)
        arguments = {"item": seen.ITEM}
        if len(so_far) == 2:
            arguments["quantity"] = seen.number(so_far[1])
        if len(so_far) > 2:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            said = ResponseOutputMessage(
                id="message", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            said = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{len(so_far)}",
                name="count" if len(so_far) < 2 else "order",
                arguments=json.dumps(arguments),
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError("nothing here is streamed")


def outputs(items) -> list[str]:
    """What the model has been shown of its tool calls so far, in order."""
    found = [] if isinstance(items, str) else [i["output"] for i in items if i.get("type") == "function_call_output"]
    return [output if isinstance(output, str) else json.dumps(output) for output in found]


def server_of(transport: str):
    program, *args = seen.command()
    if transport == "http":
        return MCPServerStreamableHttp({"url": seen.url()}, custom_data_extractor=error_flag)
    return MCPServerStdio({"command": program, "args": args}, custom_data_extractor=error_flag)


def error_flag(context) -> dict[str, bool]:
    """The model is shown the text of a failed call like that of any other; the program is told apart."""
    return {"is_error": bool(context.is_error)}


async def main(transport: str) -> None:
    set_tracing_disabled(True)
    async with server_of(transport) as server:
        revision = server.session.protocol_version
        tools = [tool.name for tool in await server.list_tools()]
        agent = Agent("buyer", model=Script(), mcp_servers=[server])
        run = await Runner.run(agent, "Order all the apples there are.")
    items = [item for item in run.new_items if item.type == "tool_call_output_item"]
    shown = [seen.answer(item.custom_data["is_error"], item.output) for item in items]
    seen.save(revision, tools, shown)


anyio.run(main, *sys.argv[1:])
