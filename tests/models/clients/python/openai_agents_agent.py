"""openai-agents: an agent on the responses API, with a tool and without."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
from seen import MODEL, QUESTION, TIMEOUT_S, Shelf, Text, run


async def ask(tools: list[Any], streamed: bool, text: Text) -> None:
    set_default_openai_client(AsyncOpenAI(timeout=TIMEOUT_S), use_for_tracing=False)
    made = Agent(name="shelf", model=MODEL, tools=tools)
    if not streamed:
        text.add((await Runner.run(made, QUESTION)).final_output)
        return
    result = Runner.run_streamed(made, QUESTION)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text.add(event.data.delta)


def agent(streamed: bool) -> dict[str, Any]:
    shelf, text = Shelf(), Text()
    asyncio.run(ask([function_tool(shelf.count)], streamed, text))
    return text.seen(calls=shelf.calls)


def chat(streamed: bool) -> dict[str, Any]:
    text = Text()
    asyncio.run(ask([], streamed, text))
    return text.seen()


set_tracing_disabled(True)  # traces go to a host that no pod reaches
run({"chat": chat, "agent": agent}, chat)
