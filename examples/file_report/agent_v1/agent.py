"""Version 1: totals per region into `report.json`; a region that cannot be read is asked for again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from arci.agent import ToolFault

ATTEMPTS = 3


def read_sales(tools: Any, region: str) -> list[int]:
    for _ in range(ATTEMPTS - 1):
        try:
            amounts: list[int] = tools.call("get_sales", region=region)
            return amounts
        except ToolFault:
            continue
    last: list[int] = tools.call("get_sales", region=region)
    return last


def run(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    totals = {region: sum(read_sales(tools, region)) for region in tools.call("list_regions")}
    tools.note_model_step("write the report", regions=len(totals))
    path = Path(os.environ["ARCI_WORKDIR"]) / task["report"]
    path.write_text(json.dumps({"totals": totals}), encoding="utf-8")
    return {"written": task["report"]}
