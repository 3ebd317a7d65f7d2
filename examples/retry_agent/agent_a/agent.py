"""Agent A: looks up the reservation, reserves with up to three attempts, confirms with up to three."""

from __future__ import annotations

from arci.agent import ToolFault


def run(task: dict, tools, rng) -> dict:
    order_id, sku = task["order_id"], task["sku"]
    if not tools.call("get_reservation", order_id=order_id)["reserved"]:
        tools.note_model_step("no reservation yet: reserve")
        for _ in range(3):
            try:
                tools.call("reserve", order_id=order_id, sku=sku, quantity=task["quantity"])
                break
            except ToolFault:
                continue
    tools.note_model_step("reserved: confirm")
    for _ in range(3):
        try:
            tools.call("confirm", order_id=order_id, sku=sku)
            break
        except ToolFault:
            continue
    return {"success": True}
