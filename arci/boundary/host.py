"""The control channel to the host: frames over the recorder's own stdin and stdout."""

from __future__ import annotations

import os
import select
import time

from arci.boundary.message import Control
from arci.boundary.outlet import Outlet
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.jsonrpc import encode
from arci.wire.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from arci.boundary.message import Message

__all__ = ["HostPort"]


class HostPort:
    """Reads control frames, writes control frames; `is_gone` once either stream has ended, or has been silent for
    `silence_s` (None: it may be): an engine that was killed leaves both open for ever."""

    def __init__(self, incoming: int, outgoing: int, silence_s: Optional[float] = None) -> None:
        os.set_blocking(outgoing, False)
        self._incoming = incoming
        self._decoder = LineDecoder(MAX_CONTROL_BYTES)
        self._outlet = Outlet(outgoing)
        self._has_ended = False
        self._silence_s = silence_s
        self._heard_s = time.monotonic()

    @property
    def is_gone(self) -> bool:
        return self._has_ended or self._outlet.is_broken

    @property
    def pending(self) -> int:
        """Bytes that the host has not taken yet."""
        return self._outlet.pending

    @property
    def patience_s(self) -> Optional[float]:
        """How long to wait for events before it is looked after; None without a limit."""
        return None if self._silence_s is None else max(0.0, self._heard_s + self._silence_s - time.monotonic())

    def look_after(self) -> None:
        """To be called when what there was to read has been read: then a silence is one."""
        if self.patience_s == 0:
            self._has_ended = True

    def interests(self) -> List[Tuple[int, int]]:
        """Descriptors to poll, each with the events."""
        interests = [(self._incoming, select.POLLIN)]
        if self._outlet.pending:
            interests.append((self._outlet.fd, select.POLLOUT))
        return interests

    def ready(self, fd: int) -> List[Message]:
        """What an event on one of these descriptors brings. A frame that is no JSON object has no `type`."""
        if fd != self._incoming:
            return []  # flushed at the end of every round
        data = os.read(fd, 65536)  # a blank line is a sign of life
        self._heard_s = time.monotonic()
        self._has_ended = not data
        return [Control(_object(line) if isinstance(line, bytes) else {}) for line in self._decoder.feed(data)]

    def tell(self, frame: Dict[str, Any]) -> None:
        self._outlet.put(encode(frame))

    def flush(self) -> None:
        self._outlet.flush()


def _object(line: bytes) -> Dict[str, Any]:
    try:
        frame = loads(line)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}
