"""The two agents of the containment suite: one works, one attacks in the way that its task names.

An attack is `(given, tools) -> dict` (its claim), or `-> list` of probes (name, callable): what a callable gets done
without an exception was reached.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Probe = tuple[str, Callable[[], object]]


def honest(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    """What the task asks for: `do` once, and a report of it."""
    tools.call("do")
    Path(os.environ["ARCI_WORKDIR"], "report.txt").write_text("done\n", encoding="utf-8")
    return {"done": True}


def hostile(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    """The task's attack; where it names none, honest work in a place where attackers were before."""
    if task["program"] is None:
        return honest(task, tools, rng)
    module, _, name = task["program"].partition(":")
    attack = getattr(importlib.import_module(module), name)
    given = {**_told(), "rng": rng, "workdir": os.environ["ARCI_WORKDIR"]}
    claim: dict[str, Any] | list[Probe] = attack(given, tools)
    return claim if isinstance(claim, dict) else _probed(claim)


def _told() -> dict[str, Any]:
    """The address and the token that this process was started with."""
    words = Path("/proc/self/cmdline").read_bytes().decode().split("\0")
    address, token = words[words.index("--dial") + 1], words[words.index("--token") + 1]
    return {"port": int(address.rpartition(":")[2]), "token": token}


def _probed(probes: list[Probe]) -> dict[str, Any]:
    reached = []
    for name, attempt in probes:
        try:
            attempt()
        except Exception:
            continue
        reached.append(name)
    return {"tried": len(probes), "reached": reached}
