"""Agent B: agent A after a tidy-up that lost the retry around `reserve`. After a timeout it goes on to confirm."""

from __future__ import annotations

from arci.agent import ToolFault


def run(task: dict, tools, rng) -> dict:
    order_id, sku = task["order_id"], task["sku"]
    if not tools.call("get_reservation", order_id=order_id)["reserved"]:
        tools.note_model_step("no reservation yet: reserve")
        try:
            tools.call("reserve", order_id=order_id, sku=sku, quantity=task["quantity"])
        except ToolFault:
            tools.note_model_step("no answer: it will have arrived")
    tools.note_model_step("reserved: confirm")
    for _ in range(3):
        try:
            tools.call("confirm", order_id=order_id, sku=sku)
            break
        except ToolFault:
            continue
    return {"success": True}
