"""pydantic-ai: an agent on chat completions, with a tool and without."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.settings import ModelSettings
from seen import MODEL, QUESTION, TIMEOUT_S, Shelf, Text, run


async def ask(made: Agent[None, str], streamed: bool, text: Text) -> None:
    if not streamed:
        text.add((await made.run(QUESTION)).output)
        return
    async with made.run_stream(QUESTION) as result:
        async for part in result.stream_text(delta=True, debounce_by=None):
            text.add(part)


def agent_with(*tools: Any) -> Agent[None, str]:
    return Agent(OpenAIChatModel(MODEL), tools=tools, model_settings=ModelSettings(timeout=TIMEOUT_S))


def agent(streamed: bool) -> dict[str, Any]:
    shelf, text = Shelf(), Text()
    asyncio.run(ask(agent_with(shelf.count), streamed, text))
    return text.seen(calls=shelf.calls)


def chat(streamed: bool) -> dict[str, Any]:
    text = Text()
    asyncio.run(ask(agent_with(), streamed, text))
    return text.seen()


run({"chat": chat, "agent": agent}, chat)
