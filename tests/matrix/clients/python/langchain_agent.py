"""An agent of LangGraph with LangChain's MCP adapters and a scripted model: `langchain_agent.py stdio|http`."""

from __future__ import annotations

import sys

import anyio
import seen
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.server_info import load_mcp_server_info
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


class Script(BaseChatModel):
    """A model that counts, counts again, orders what it was told, and is done."""

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs) -> ChatResult:
        so_far = answers(messages)
        order = {"item": seen.ITEM}
        tool = "count" if len(so_far) < 2 else "order"
        if tool == "order":
            order["quantity"] = seen.number(str(so_far[1]["text"]))
        calls = [] if len(so_far) > 2 else [{"name": tool, "args": order, "id": f"call-{len(so_far)}"}]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done", tool_calls=calls))])


def answers(messages: list[BaseMessage]) -> list[dict[str, object]]:
    """What the model has been shown of its tool calls so far, in order."""
    return [seen.answer(m.status == "error", m.text) for m in messages if isinstance(m, ToolMessage)]


async def main(transport: str) -> None:
    program, *args = seen.command()
    stdio = {"transport": "stdio", "command": program, "args": args}
    http = {"transport": "streamable_http", "url": seen.url()}
    client = MultiServerMCPClient({"tools": http if transport == "http" else stdio})
    async with client.session("tools", auto_initialize=False) as session:
        info = await load_mcp_server_info(session)
        tools = await load_mcp_tools(session)
        model = Script().bind_tools(tools)
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", ToolNode(tools))
        graph.set_entry_point("model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        ended = await graph.compile().ainvoke({"messages": [("user", "Order all the apples there are.")]})
    seen.save(str(info.protocolVersion), [tool.name for tool in tools], answers(ended["messages"]))


anyio.run(main, *sys.argv[1:])
