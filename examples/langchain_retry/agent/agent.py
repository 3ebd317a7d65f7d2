"""The agent: LangChain's `create_agent` with three tools. How often a failed one is tried again is the change."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_openai import ChatOpenAI

PROMPT = "Reserve what the order needs, then confirm the order."


def before(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    return serve(task, tools, retries=2)


def after(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    """`before` without its retries: a failed tool is told to the model as it is."""
    return serve(task, tools, retries=0)


def serve(task: dict[str, Any], tools: Any, retries: int) -> dict[str, Any]:
    # Address and token of the model are in OPENAI_BASE_URL and OPENAI_API_KEY, where the SDK looks for them.
    agent = create_agent(
        ChatOpenAI(model="scripted-1"),
        tools=agent_tools(tools),
        system_prompt=PROMPT,
        middleware=[ToolRetryMiddleware(max_retries=retries, initial_delay=0.1, jitter=False)],
    )
    order = "Order {order_id}: {quantity} of {sku}.".format(**task)
    messages = agent.invoke({"messages": [{"role": "user", "content": order}]})["messages"]
    return {"answer": messages[-1].text}


def agent_tools(tools: Any) -> list[Any]:
    """The world's tools as LangChain takes them: functions."""

    def get_stock(sku: str) -> int:
        """How many of an article can be reserved."""
        return int(tools.call("get_stock", sku=sku))

    def reserve(order_id: str, sku: str, quantity: int) -> str:
        """Reserve an article for an order; the reservation's number."""
        return str(tools.call("reserve", order_id=order_id, sku=sku, quantity=quantity))

    def confirm(order_id: str) -> bool:
        """Confirm an order."""
        return bool(tools.call("confirm", order_id=order_id))

    return [get_stock, reserve, confirm]
