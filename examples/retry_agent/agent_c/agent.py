"""Agent C: what agent A does, through one bounded retry helper. The repair of agent B."""

from __future__ import annotations

from arci.agent import ToolFault

ATTEMPTS = 3


def call_with_retries(tools, name: str, **arguments):
    """The tool's value, or None when every attempt failed."""
    for _ in range(ATTEMPTS):
        try:
            return tools.call(name, **arguments)
        except ToolFault:
            continue
    return None


def run(task: dict, tools, rng) -> dict:
    order_id, sku = task["order_id"], task["sku"]
    if not tools.call("get_reservation", order_id=order_id)["reserved"]:
        tools.note_model_step("no reservation yet: reserve")
        call_with_retries(tools, "reserve", order_id=order_id, sku=sku, quantity=task["quantity"])
    tools.note_model_step("reserved: confirm")
    call_with_retries(tools, "confirm", order_id=order_id, sku=sku)
    return {"success": True}
