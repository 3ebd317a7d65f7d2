"""A warm room with a thermometer and a heater that is on. What the agent acts on, and never sees the source of."""

from __future__ import annotations

import random
from typing import Any


class Room:
    """One trial's world. How warm it is, the seed decides."""

    def __init__(self, seed: int) -> None:
        self.temperature = random.Random(f"{seed}:room").randint(23, 29)
        self.heater = True
        self.tools = {"read_temperature": self.read_temperature, "set_heater": self.set_heater}

    def read_temperature(self) -> int:
        """Degrees Celsius."""
        return self.temperature

    def set_heater(self, on: bool) -> bool:
        """Turn the heater on or off."""
        self.heater = on
        return True

    def snapshot(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "heater": self.heater}


def open_world(task: dict[str, Any], seed: int) -> Room:
    return Room(seed)
