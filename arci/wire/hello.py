"""The first line of a connection, `ARCI <kind> <token>`, and the addresses that are dialled. Pure."""

from __future__ import annotations

from _operator import _compare_digest  # what hmac.compare_digest is; importing hmac would import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional, Tuple, Union

__all__ = ["MAX_HELLO_BYTES", "address", "hello_kind", "hello_line"]

MAX_HELLO_BYTES = 512


def hello_line(kind: str, token: str) -> bytes:
    return f"ARCI {kind} {token}\n".encode("ascii")


def hello_kind(line: bytes, tokens: Mapping[str, str]) -> Optional[str]:
    """The kind of connection that `line` opens, or None if it is no hello or its token is wrong.

    `tokens`: kind -> the token it must carry (ASCII).
    """
    parts = line.split(b" ")
    if len(parts) != 3 or parts[0] != b"ARCI":
        return None
    kind = parts[1].decode("ascii", "replace")
    expected = tokens.get(kind)
    if expected is None or not _compare_digest(parts[2], expected.encode("ascii")):
        return None
    return kind


def address(text: str) -> Tuple[str, Union[str, Tuple[str, int]]]:
    """`unix:/path` -> ("unix", path); `tcp:HOST:PORT` -> ("tcp", (host, port)). ValueError for anything else."""
    scheme, _, rest = text.partition(":")
    if scheme == "unix" and rest.startswith("/"):
        return "unix", rest
    host, _, port = rest.rpartition(":")
    if scheme == "tcp" and host and port.isdigit() and int(port) < 65536:
        return "tcp", (host, int(port))
    raise ValueError(f"address: {text!r}; unix:/path or tcp:HOST:PORT")
