"""Calls whose server asked for more input: kept until the client asks again, which is the same call. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from arci.boundary.asking import Asking, Opened
    from arci.boundary.servers import Target

    Key = Tuple[str, str]

__all__ = ["Retries"]

_MOST_ROUNDS = 100
"""How often one trial may be asked for more input: each round is an answer, and none counts as a call."""


class Retries:
    """A retry is known by the state that the server handed out, or else by its tool and arguments."""

    def __init__(self) -> None:
        self._waiting: Dict[Key, List[Opened]] = {}
        self._rounds = 0

    def put(self, opened: Opened, result: Dict[str, Any]) -> bool:
        """False if there were too many."""
        self._rounds += 1
        if self._rounds > _MOST_ROUNDS:
            return False
        key = _key(opened.call.tool, result.get("requestState"), opened.asking.arguments)
        self._waiting.setdefault(key, []).append(opened)
        return True

    def resumed(self, asking: Asking, target: Optional[Target]) -> Optional[Opened]:
        """The call that `asking` goes on with, which from now on is asked by it; None if there is none."""
        tool = asking.tool if target is None else target.key
        waiting = self._waiting.get(_key(tool, asking.extra.get("requestState"), asking.arguments))
        if not waiting:
            return None
        opened = waiting.pop(0)
        opened.asking = asking
        return opened

    def drop(self, opened: Opened) -> None:
        for waiting in self._waiting.values():
            if opened in waiting:
                waiting.remove(opened)

    def take_all(self) -> List[Opened]:
        """Those that nobody went on with."""
        kept, self._waiting = self._waiting, {}
        return [opened for waiting in kept.values() for opened in waiting]


def _key(tool: str, state: Any, arguments: Dict[str, Any]) -> Key:
    return (tool, "s" + state) if isinstance(state, str) else (tool, "a" + dumps(arguments))
