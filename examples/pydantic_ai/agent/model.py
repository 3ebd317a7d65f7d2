"""A scripted model in the place of a real one: no network, no key, and the same answers in every trial.

It plays a plain language model: it looks the customer up, opens a ticket, and calls again when it is asked to retry.
"""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

EMAIL = "ada@example.org"


def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if not isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[ToolCallPart("find_customer", {"email": EMAIL})])
    if last.outcome == "retried":
        return again(messages)
    if last.tool_name == "find_customer":
        arguments = {"customer": last.content, "subject": "The heating is cold."}
        return ModelResponse(parts=[ToolCallPart("open_ticket", arguments)])
    return ModelResponse(parts=[TextPart(f"Your ticket: {last.content}")])


def again(messages: list[ModelMessage]) -> ModelResponse:
    """The call that it made last, once more."""
    calls = [part for part in messages[-2].parts if isinstance(part, ToolCallPart)]
    return ModelResponse(parts=[ToolCallPart(call.tool_name, call.args) for call in calls])


scripted = FunctionModel(play, model_name="scripted")
