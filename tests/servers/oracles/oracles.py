"""What the final states of the experiments must be, and what their agents must have seen."""

from __future__ import annotations

import base64
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def seen(evidence: Json) -> Json:
    """What the agent left: its tools per server, and the answers to its calls."""
    file = evidence["files"].get("seen.json")
    found: Json = {"tools": {"server": []}, "answers": [{"text": "", "value": None}]}
    return found if file is None else dict(json.loads(file["text"]))


def has_order(task: Json, final_state: Json) -> bool:
    """The sqlite database, opened as one."""
    data = base64.b64decode(final_state["files"]["shop.db"].get("base64", ""))  # empty before the first table
    if not data:
        return False
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "shop.db")
        path.write_bytes(data)
        connection = sqlite3.connect(path)
        try:
            return connection.execute("SELECT id, item FROM orders").fetchall() == [(7, "widget")]
        finally:
            connection.close()


def has_commit(task: Json, final_state: Json) -> bool:
    """The log of the branch: the commit made at the start, and one more with the right message."""
    lines = final_state["files"]["repo/.git/logs/HEAD"]["text"].splitlines()
    return [line.partition("\t")[2] for line in lines] == ["commit (initial): first", "note the milk"]


def has_note(task: Json, final_state: Json) -> bool:
    """Two files and nothing else, one of them edited after it was written."""
    texts = {path: file["text"] for path, file in final_state["files"].items()}
    return texts == {"notes/today.txt": "bread\n", "notes/todo/later.txt": "milk\n"}


def knows_time(task: Json, final_state: Json, evidence: Json) -> bool:
    """The snapshot's tool was asked by ARCI and is hidden from the agent, which could use the other one."""
    found = seen(evidence)
    if found["tools"]["server"] != ["convert_time"] or final_state["timezone"] != "UTC":
        return False
    return bool(found["answers"][-1]["value"]["target"]["datetime"].endswith("T21:30:00+09:00"))


def was_summed(task: Json, final_state: Json, evidence: Json) -> bool:
    """The snapshot is a resource, which is a text here."""
    found = seen(evidence)
    is_state = final_state["text"].startswith("# Everything Server")
    return bool(is_state and "get-sum" in found["tools"]["server"] and "is 42" in found["answers"][-1]["text"])


def are_both_written(task: Json, final_state: Json) -> bool:
    """Each of the two servers has its own file."""
    texts = {name: state["files"].get("side.txt", {}).get("text") for name, state in final_state.items()}
    return texts == {"left": "left", "right": "right"}


def is_order_right(task: Json, final_state: Json) -> bool:
    """The order is right, and nothing that the agent started is there to be asked for it."""
    import socket

    try:
        socket.create_connection(("127.0.0.1", 7077), timeout=5).close()
    except OSError:
        return bool(final_state["files"].get("order.txt") == {"text": "right"})
    raise RuntimeError("what the agent started is still there")
