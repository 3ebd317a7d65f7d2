"""Version 2: rewritten to "never fail": a region that cannot be read is reported as text, and nobody asks again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from arci.agent import ToolFault


def total_of(tools: Any, region: str) -> int | str:
    try:
        amounts: list[int] = tools.call("get_sales", region=region)
        return sum(amounts)
    except ToolFault as fault:
        return f"unavailable ({fault.kind})"


def run(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    totals = {region: total_of(tools, region) for region in tools.call("list_regions")}
    tools.note_model_step("write the report", regions=len(totals))
    path = Path(os.environ["ARCI_WORKDIR"]) / task["report"]
    path.write_text(json.dumps({"totals": totals}), encoding="utf-8")
    return {"written": task["report"]}
