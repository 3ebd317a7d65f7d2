"""The official `anthropic` package: messages, a tool."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic
from seen import MODEL, QUESTION, SCHEMA, TIMEOUT_S, Shelf, Text, run

client = Anthropic(timeout=TIMEOUT_S)
TOOL: Any = {"name": "count", "description": "how many", "input_schema": SCHEMA}


def ask(messages: list[Any], streamed: bool, text: Text, **more: Any) -> list[Any]:
    """One message of the model: its content blocks."""
    if streamed:
        with client.messages.stream(model=MODEL, max_tokens=100, messages=messages, **more) as stream:
            for part in stream.text_stream:
                text.add(part)
            return list(stream.get_final_message().content)
    blocks = client.messages.create(model=MODEL, max_tokens=100, messages=messages, **more).content
    for block in blocks:
        text.add(getattr(block, "text", None))
    return list(blocks)


def messages(streamed: bool) -> dict[str, Any]:
    text = Text()
    ask([{"role": "user", "content": QUESTION}], streamed, text)
    return text.seen()


def tool(streamed: bool) -> dict[str, Any]:
    shelf, text = Shelf(), Text()
    said: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        blocks = ask(said, streamed, text, tools=[TOOL])
        calls = [block for block in blocks if block.type == "tool_use"]
        if not calls:
            return text.seen(calls=shelf.calls)
        said.append({"role": "assistant", "content": blocks})
        results = [{"type": "tool_result", "tool_use_id": c.id, "content": str(shelf.count(**c.input))} for c in calls]
        said.append({"role": "user", "content": results})


run({"messages": messages, "tool": tool}, messages)
