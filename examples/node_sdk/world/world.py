"""A depot that collects parcels in time windows. What the agent acts on through MCP, and never sees the source of."""

from __future__ import annotations

import random
from typing import Any


class Depot:
    """One trial's world. Which windows are free, the seed decides."""

    def __init__(self, seed: int) -> None:
        free = sorted(random.Random(f"{seed}:windows").sample(range(8, 18), 3))
        self.windows = [f"{hour:02}:00" for hour in free]
        self.pickups: list[dict[str, str]] = []
        self.tools = {"list_windows": self.list_windows, "book_pickup": self.book_pickup}

    def list_windows(self, parcel: str) -> list[str]:
        """Free windows for the parcel, the earliest first."""
        return self.windows

    def book_pickup(self, parcel: str, window: str) -> str:
        """Book a pickup; its number."""
        if window not in self.windows:
            raise ValueError(f"{window} is not free")
        self.pickups.append({"parcel": parcel, "window": window})
        return f"PU-{len(self.pickups)}"

    def snapshot(self) -> dict[str, Any]:
        return {"windows": self.windows, "pickups": self.pickups}


def open_world(task: dict[str, Any], seed: int) -> Depot:
    return Depot(seed)
