"""What an MCP server writes, line by line: answers to the link, its requests refused, the rest recorded. Sans-io."""

from __future__ import annotations

from arci.boundary.reading import Noise, Unclear, glued_answer, id_shown, read_line, shows_method
from arci.wire.framing import LineDecoder
from arci.wire.jsonrpc import METHOD_NOT_FOUND, Notification, Request, Response, error_line, result_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Protocol

    from arci.boundary.journal import Journal
    from arci.wire.framing import Oversize

    OnNotification = Callable[[str, Dict[str, Any]], None]

    class Requests(Protocol):
        """Who knows what was asked of the server."""

        name: str

        def is_open(self, id: int) -> bool: ...
        def answered(self, response: Response) -> None: ...
        def unreadable(self, id: int, text: str) -> None: ...
        def all_unreadable(self, text: str) -> None: ...
        def progress(self, params: Dict[str, Any]) -> None: ...


__all__ = ["FLOOD_BYTES", "GLUED_S", "MOST_NOISE", "Inbound"]

FLOOD_BYTES = 64 * 1024 * 1024
"""Bytes of a line without an end after which a server counts as broken."""
MOST_NOISE = 100_000
"""Lines that are no message after which it does too."""
GLUED_S = 1.0
"""How long an answer that stood in the middle of a line may still come as a line of its own."""
_RAW_BYTES = 64 * 1024
_QUOTED = 200


class Inbound:
    """Reads one server. `on_glued(id, line)`: an answer is stuck to other output; `on_flood(detail)`: it cannot be
    listened to any more."""

    def __init__(
        self, requests: Requests, journal: Journal, send: Callable[[bytes], None], on_notification: OnNotification
    ) -> None:
        self._requests = requests
        self._journal = journal
        self._send = send
        self._on_notification = on_notification
        self._decoder = LineDecoder(keeps_tail=True)
        self._boms = 0
        self._failed_in_line: Optional[int] = None  # of the oversize line under way
        self.noise = 0
        """Lines that were no message."""
        self.on_glued: Callable[[int, str], None] = lambda id, line: None
        self.on_flood: Callable[[str], None] = lambda detail: None

    def said(self, data: bytes) -> None:
        for line in self._decoder.lines(data):
            if self._decoder.boms > self._boms:
                self._boms = self._decoder.boms
                self._protocol("byte order mark before a message")
            if isinstance(line, bytes):
                self._take(line)
            else:
                self._oversize(line)
        if self._decoder.overrun > FLOOD_BYTES:
            self._decoder = LineDecoder(keeps_tail=True)
            self.on_flood("wrote a line that did not end")

    def restarted(self) -> None:
        self._decoder = LineDecoder(keeps_tail=True)
        self._boms = 0

    def _take(self, line: bytes) -> None:
        found = read_line(line)
        if isinstance(found, Response):
            self._requests.answered(found)
        elif isinstance(found, Unclear):
            self._unclear(line, found)
        elif isinstance(found, Request):
            self._refuse(found)
        elif isinstance(found, Notification):
            self._notified(found)
        else:
            self._noise(line, found)

    def _unclear(self, line: bytes, found: Unclear) -> None:
        self._protocol(f"an answer that cannot be taken at its word: {found.detail}", **_raw(line))
        self._requests.unreadable(found.id, f"the tool server's answer is not valid: {found.detail}")

    def _refuse(self, request: Request) -> None:
        """No client capability was declared, so a server may ask nothing but whether somebody is there."""
        if request.method == "ping":
            self._send(result_line(request.id, {}))
            return
        self._protocol(f"request {request.method[:80]!r} of the server, refused")
        self._send(error_line(request.id, METHOD_NOT_FOUND, f"{request.method[:80]!r} is not supported by this client"))

    def _notified(self, found: Notification) -> None:
        if found.method == "notifications/progress":
            self._requests.progress(found.params)
        else:
            self._on_notification(found.method, found.params)

    def _noise(self, line: bytes, found: Noise) -> None:
        self.noise += 1
        text = line[:_QUOTED].decode("utf-8", "replace")
        self._protocol(f"no message but {text!r} ({found.detail})")
        id = glued_answer(line)
        if id is not None and self._requests.is_open(id):
            self.on_glued(id, text)
        if self.noise == MOST_NOISE:
            self.on_flood(f"wrote {MOST_NOISE} lines that are no messages")

    def _oversize(self, line: Oversize) -> None:
        """Told when the limit is passed, and again with its tail when it ends: by then one call has failed, or all."""
        text = f"the tool server's answer is over {line.limit_bytes} bytes"
        if not line.tail:
            self._protocol(f"a line over {line.limit_bytes} bytes", raw=line.head.decode("utf-8", "replace"))
            self._failed_in_line = id_shown(line.head, b"")
            if self._failed_in_line is not None:
                self._requests.unreadable(self._failed_in_line, text)
            return
        if self._failed_in_line is None and not shows_method(line.head):
            id = id_shown(line.head, line.tail)
            if id is not None:
                self._requests.unreadable(id, text)
            else:
                self._requests.all_unreadable(text)
        self._failed_in_line = None

    def _protocol(self, detail: str, **fields: Any) -> None:
        self._journal.protocol(f"server {self._requests.name!r}: {detail}", **fields)


def _raw(line: bytes) -> Dict[str, Any]:
    """What a record keeps of an answer that nobody may read: its head as it came, and the digest of all of it."""
    from arci.model.canonical import digest_bytes

    return {
        "raw": line[:_RAW_BYTES].decode("utf-8", "backslashreplace"),
        "raw_bytes": len(line),
        "raw_sha256": digest_bytes(line),
    }
