"""The official `openai` package: chat completions, a tool, responses, embeddings."""

from __future__ import annotations

import json
from typing import Any

from openai import OpenAI
from seen import MODEL, QUESTION, SCHEMA, TIMEOUT_S, Shelf, Text, run

client = OpenAI(timeout=TIMEOUT_S)
TOOL: Any = {"type": "function", "function": {"name": "count", "description": "how many", "parameters": SCHEMA}}


def complete(messages: list[Any], streamed: bool, text: Text, **more: Any) -> list[Any]:
    """One completion; the tool calls that it asks for, as messages have them."""
    if not streamed:
        message = client.chat.completions.create(model=MODEL, messages=messages, **more).choices[0].message
        text.add(message.content)
        return [call.model_dump() for call in message.tool_calls or ()]
    calls: dict[int, Any] = {}
    for chunk in client.chat.completions.create(model=MODEL, messages=messages, stream=True, **more):
        for choice in chunk.choices:
            text.add(choice.delta.content)
            for part in choice.delta.tool_calls or ():
                empty = {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}}
                function = calls.setdefault(part.index, empty)["function"]
                function["name"] += part.function.name or ""
                function["arguments"] += part.function.arguments or ""
    return list(calls.values())


def chat(streamed: bool) -> dict[str, Any]:
    text = Text()
    complete([{"role": "user", "content": QUESTION}], streamed, text)
    return text.seen()


def tool(streamed: bool) -> dict[str, Any]:
    shelf, text = Shelf(), Text()
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    while calls := complete(messages, streamed, text, tools=[TOOL]):
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            answer = shelf.count(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(answer)})
    return text.seen(calls=shelf.calls)


def responses(streamed: bool) -> dict[str, Any]:
    text = Text()
    if not streamed:
        text.add(client.responses.create(model=MODEL, input=QUESTION).output_text)
        return text.seen()
    for event in client.responses.create(model=MODEL, input=QUESTION, stream=True):
        if event.type == "response.output_text.delta":
            text.add(event.delta)
    return text.seen()


def embeddings(streamed: bool) -> dict[str, Any]:
    """Never streamed."""
    (found,) = client.embeddings.create(model=MODEL, input=[QUESTION]).data
    return {"dimensions": len(found.embedding)}


run({"chat": chat, "tool": tool, "responses": responses, "embeddings": embeddings}, chat)
