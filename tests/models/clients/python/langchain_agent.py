"""LangChain: an agent of `create_agent` with a tool, on chat completions; and its chat model alone."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from seen import MODEL, QUESTION, TIMEOUT_S, Shelf, Text, run

model = ChatOpenAI(model=MODEL, timeout=TIMEOUT_S)


def agent(streamed: bool) -> dict[str, Any]:
    shelf, text = Shelf(), Text()
    made = create_agent(model, tools=[shelf.count])
    asked: Any = {"messages": [{"role": "user", "content": QUESTION}]}
    if streamed:
        for message, _ in made.stream(asked, stream_mode="messages"):
            text.add(message.text if message.type == "AIMessageChunk" else None)
    else:
        text.add(made.invoke(asked)["messages"][-1].text)
    return text.seen(calls=shelf.calls)


def chat(streamed: bool) -> dict[str, Any]:
    text = Text()
    for message in model.stream(QUESTION) if streamed else [model.invoke(QUESTION)]:
        text.add(message.text)
    return text.seen()


run({"chat": chat, "agent": agent}, chat)
