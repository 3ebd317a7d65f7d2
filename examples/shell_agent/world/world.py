"""A service that runs in some version and can be given another. The agent never sees the source of it."""

from __future__ import annotations

import random
from typing import Any


class Cluster:
    """One trial's world. Which version runs at the start, the seed decides; in some it is the wanted one."""

    def __init__(self, task: dict[str, Any], seed: int) -> None:
        draw = random.Random(f"{seed}:cluster")
        self.version: str = draw.choice([task["version"], "1.9", "1.8", "1.7"])
        self.initial = self.version
        self.deployments: list[str] = []
        self.tools = {"get_version": self.get_version, "deploy": self.deploy}

    def get_version(self, service: str) -> str:
        """The version that runs."""
        return self.version

    def deploy(self, service: str, version: str) -> str:
        """Deploy a version; the one that runs now."""
        self.version = version
        self.deployments.append(version)
        return self.version

    def snapshot(self) -> dict[str, Any]:
        return {"initial": self.initial, "version": self.version, "deployments": self.deployments}


def open_world(task: dict[str, Any], seed: int) -> Cluster:
    return Cluster(task, seed)
