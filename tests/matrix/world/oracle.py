"""Judges one client: what it wrote down of its session, against what the shelf knows of it."""

import json
from typing import Any


def checks(task: dict[str, Any], final_state: dict[str, Any], seen: dict[str, Any]) -> dict[str, bool]:
    """Step -> whether the client came through it. `seen`: what it wrote; of its calls nothing is believed without the
    shelf's own word.
    """
    stock, receipt = str(final_state["stock"]), final_state["receipt"]
    clean, ordered = seen.get("clean", {}), seen.get("ordered", {})
    was_ordered = final_state["orders"] == [{"item": "apples", "quantity": final_state["stock"]}]
    return {
        "discovery": seen.get("revision") == task["revision"],
        "list": seen.get("tools") == ["count", "order"],
        "faulted": was_faulted(seen.get("faulted", {})) and final_state["counts"] == 1,
        "clean": was_answered(clean, stock) and was_answered(ordered, receipt) and was_ordered,
    }


def was_faulted(answer: dict[str, Any]) -> bool:
    """The first call came back as an error with the tool's words, in whatever dress the framework gives it."""
    return answer.get("is_error") is True and "internal error" in answer.get("text", "")


def was_answered(answer: dict[str, Any], value: str) -> bool:
    return answer.get("is_error") is False and value in answer.get("text", "")


def judge(task: dict[str, Any], final_state: dict[str, Any], evidence: dict[str, Any]) -> bool:
    file = evidence["files"].get("seen.json")
    return file is not None and all(checks(task, final_state, json.loads(file["text"])).values())
