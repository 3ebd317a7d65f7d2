"""HTTP/1.1 requests out of bytes cut anywhere, within limits. Sans-io; knows of header fields only what frames.

Strict where two readers could see two different messages, lenient towards clients written by hand: a bare LF ends a
line.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple, Union

__all__ = ["MAX_BODY_BYTES", "MAX_HEAD_BYTES", "Body", "Head", "Problem", "RequestDecoder"]

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 8 * 1024 * 1024

_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_LONGEST_CHUNK_LINE = 1024


class Head:
    """Request line and header fields; its `Body` follows, empty where there is none."""

    __slots__ = ("fields", "has_body", "keeps_alive", "method", "target", "version", "waits")

    def __init__(self, method: str, target: str, version: str, fields: List[Tuple[str, str]]) -> None:
        self.method = method
        self.target = target
        self.version = version
        """`1.1` or `1.0`."""
        self.fields = fields  # (name in lower case, value), in order
        connection = {word.strip().lower() for word in ",".join(self.all("connection")).split(",")}
        self.keeps_alive = "close" not in connection and (version == "1.1" or "keep-alive" in connection)
        self.has_body = False
        self.waits = version == "1.1" and self.get("expect").lower() == "100-continue"
        """The client sends its body only once it is told to go on."""

    def all(self, name: str) -> List[str]:
        return [value for key, value in self.fields if key == name]

    def get(self, name: str) -> str:
        """The first value of a field; "" where there is none."""
        return next(iter(self.all(name)), "")


class Body:
    """The whole body of the request whose `Head` came before it."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class Problem:
    """What cannot be read as a request: where the next one begins is not known, so nothing more is read."""

    __slots__ = ("detail", "status")

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail


class _Unreadable(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.problem = Problem(status, detail)


class RequestDecoder:
    """Holds at most one head and one body."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body = bytearray()
        self._scanned = 0  # of the buffer, while the end of a head is looked for
        self._is_over = False
        self._step = self._head
        self._left = 0  # bytes to come of a body or chunk

    @property
    def buffered(self) -> int:
        return len(self._buffer) + len(self._body)

    @property
    def is_between(self) -> bool:
        """No request has begun that has not ended."""
        return self._step == self._head and not self._buffer

    def feed(self, data: bytes) -> List[Union[Head, Body, Problem]]:
        """What `data` completes, in order. After a `Problem`, or `stop`, nothing."""
        items: List[Union[Head, Body, Problem]] = []
        if self._is_over:
            return items
        self._buffer += data
        try:
            while not self._is_over and self._step(items):
                pass
        except _Unreadable as error:
            items.append(error.problem)
            self.stop()
        return items

    def stop(self) -> None:
        """Read nothing more."""
        self._is_over = True
        self._buffer, self._body = bytearray(), bytearray()

    def _head(self, items: List[Union[Head, Body, Problem]]) -> bool:
        if self._scanned == 0:
            del self._buffer[: len(self._buffer) - len(self._buffer.lstrip(b"\r\n"))]
        end = _head_end(self._buffer, self._scanned)
        if (end if end >= 0 else len(self._buffer)) > MAX_HEAD_BYTES:
            raise _Unreadable(431, f"more than {MAX_HEAD_BYTES} bytes of header fields")
        if end < 0:
            self._scanned = max(0, len(self._buffer) - 3)
            return False
        head = _read_head(bytes(self._buffer[:end]))
        del self._buffer[:end]
        self._scanned = 0
        self._frame(head)
        items.append(head)
        return True

    def _frame(self, head: Head) -> None:
        """How long the body is."""
        codings, lengths = head.all("transfer-encoding"), set(head.all("content-length"))
        if codings:
            if lengths:
                raise _Unreadable(400, "Transfer-Encoding beside Content-Length")
            if [c.strip().lower() for c in codings] != ["chunked"]:
                raise _Unreadable(501, "a transfer coding other than chunked")
            head.has_body, self._step = True, self._chunk_line
            return
        if len(lengths) > 1 or not all(_is_number(text) for text in lengths):
            raise _Unreadable(400, "Content-Length is no number")
        self._left = int(lengths.pop()) if lengths else 0
        if self._left > MAX_BODY_BYTES:
            raise _Unreadable(413, f"a body over {MAX_BODY_BYTES} bytes")
        head.has_body, self._step = self._left > 0, self._sized

    def _sized(self, items: List[Union[Head, Body, Problem]]) -> bool:
        if len(self._buffer) < self._left:
            return False
        items.append(Body(bytes(self._buffer[: self._left])))
        del self._buffer[: self._left]
        self._step = self._head
        return True

    def _chunk_line(self, items: List[Union[Head, Body, Problem]]) -> bool:
        line = self._line(_LONGEST_CHUNK_LINE)
        if line is None:
            return False
        size = line.partition(b";")[0].strip()
        if not 0 < len(size) <= 8 or size.strip(b"0123456789abcdefABCDEF"):
            raise _Unreadable(400, "a chunk without its size")
        self._left = int(size, 16)
        if len(self._body) + self._left > MAX_BODY_BYTES:
            raise _Unreadable(413, f"a body over {MAX_BODY_BYTES} bytes")
        self._step = self._chunk if self._left else self._trailer
        return True

    def _chunk(self, items: List[Union[Head, Body, Problem]]) -> bool:
        piece = self._buffer[: self._left]
        self._body += piece
        del self._buffer[: len(piece)]
        self._left -= len(piece)
        if self._left:
            return False
        line = self._line(2)
        if line is None:
            return False
        if line:
            raise _Unreadable(400, "a chunk longer than its size")
        self._step = self._chunk_line
        return True

    def _trailer(self, items: List[Union[Head, Body, Problem]]) -> bool:
        line = self._line(MAX_HEAD_BYTES)
        if line is None:
            return False
        self._left += len(line)  # nothing is left of the body: counts the trailer's bytes from here on
        if self._left > MAX_HEAD_BYTES:
            raise _Unreadable(431, f"more than {MAX_HEAD_BYTES} bytes of header fields")
        if not line:
            items.append(Body(bytes(self._body)))
            self._body = bytearray()
            self._step = self._head
        return True

    def _line(self, longest: int) -> Union[bytes, None]:
        """The next line without its end; None if it has not come yet."""
        end = self._buffer.find(b"\n", 0, longest + 2)
        if end < 0:
            if len(self._buffer) > longest + 1:
                raise _Unreadable(400, "a line that does not end")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line[:-1] if line.endswith(b"\r") else line


def _head_end(buffer: bytearray, start: int) -> int:
    """Where the empty line ends that ends a head; -1 if it has not come yet."""
    ends = [(place, len(mark)) for mark in (b"\n\r\n", b"\n\n") for place in [buffer.find(mark, start)] if place >= 0]
    return min(place + length for place, length in ends) if ends else -1


def _read_head(text: bytes) -> Head:
    lines = [line[:-1] if line.endswith(b"\r") else line for line in text.split(b"\n")][:-2]
    words = lines[0].split(b" ")
    if len(words) != 3 or not _is_token(words[0]) or not _is_visible(words[1]):
        raise _Unreadable(400, "a request line that is none")
    if words[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise _Unreadable(505, "an HTTP version other than 1.1 and 1.0")
    fields = [_field(line) for line in lines[1:]]
    if sum(name == "host" for name, _ in fields) > 1:
        raise _Unreadable(400, "more than one Host")
    head = Head(words[0].decode("ascii"), words[1].decode("ascii"), words[2][5:].decode("ascii"), fields)
    if head.all("transfer-encoding") and words[2] == b"HTTP/1.0":
        raise _Unreadable(400, "a transfer coding in HTTP/1.0")
    return head


def _field(line: bytes) -> Tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _is_token(name) or any((byte < 32 and byte != 9) or byte == 127 for byte in value):
        raise _Unreadable(400, "a header field that is none")
    return name.decode("ascii").lower(), value.strip(b" \t").decode("latin-1")


def _is_token(text: bytes) -> bool:
    return bool(text) and all(byte in _TOKEN for byte in text)


def _is_visible(text: bytes) -> bool:
    return bool(text) and all(32 < byte < 127 for byte in text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12
