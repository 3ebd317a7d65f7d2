"""A sales ledger with one to four regions, drawn from the trial's seed. The agent reads it through tools."""

from __future__ import annotations

import random
from typing import Any

REGIONS = ("north", "south", "east", "west")


class Ledger:
    """One trial's world. It is only read; its snapshot is what a right report is worked out from."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(f"{seed}:ledger")
        count = draw.randint(1, len(REGIONS))
        self.sales = {region: [draw.randint(10, 99) for _ in range(3)] for region in REGIONS[:count]}
        self.tools = {"list_regions": self.list_regions, "get_sales": self.get_sales}

    def list_regions(self) -> list[str]:
        """The regions that have sales."""
        return list(self.sales)

    def get_sales(self, region: str) -> list[int]:
        """The amounts sold in a region."""
        return self.sales[region]

    def snapshot(self) -> dict[str, Any]:
        return {"sales": self.sales}


def open_world(task: dict[str, Any], seed: int) -> Ledger:
    return Ledger(seed)
