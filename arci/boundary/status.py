"""The lines of arci-init on its status connection, told to the host. Sans-io."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Union

    from arci.boundary.connections import Connection
    from arci.boundary.journal import Journal
    from arci.wire.framing import Oversize

__all__ = ["Status", "status_fields"]


def status_fields(line: bytes) -> Optional[Dict[str, Any]]:
    """The fields of a `status` frame for one line of arci-init, or None if it is none.

    `started`, `exec-failed ERRNO`, `ended exit CODE oom=N`, `ended signal NUMBER oom=N`; N is -1 where unknown. Behind
    it ` peak=BYTES` where that is known.
    """
    words = line.decode("ascii", "replace").split()
    try:
        if words == ["started"]:
            return {"status": "started"}
        if len(words) == 2 and words[0] == "exec-failed":
            return {"status": "exec_failed", "errno": int(words[1])}
        if len(words) in (4, 5) and words[0] == "ended" and words[1] in ("exit", "signal"):
            return _ended(words)
    except ValueError:
        return None
    return None


def _ended(words: List[str]) -> Optional[Dict[str, Any]]:
    """ValueError for what is no number."""
    if words[3][:4] != "oom=" or (len(words) == 5 and words[4][:5] != "peak="):
        return None
    kills = int(words[3][4:])
    peak = {"peak_bytes": int(words[4][5:])} if len(words) == 5 else {}
    how = "code" if words[1] == "exit" else "signal"
    return {"status": "ended", how: int(words[2]), "oom_kills": None if kills < 0 else kills, **peak}


class Status:
    """What is known of the agent's process."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._is_over = False

    def take(self, connection: Connection, line: Union[bytes, Oversize]) -> None:
        """One line."""
        fields = status_fields(line) if isinstance(line, bytes) else None
        if fields is None:
            connection.bad_frame(f"{line[:80]!r} is no status" if isinstance(line, bytes) else "an endless line")
            return
        self._is_over = self._is_over or fields["status"] in ("ended", "exec_failed")
        self._journal.tell("status", **fields)

    def lost(self) -> None:
        """The connection has ended."""
        if not self._is_over:
            self._journal.tell("status", status="lost")
