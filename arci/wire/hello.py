"""The first line of a connection, `ARCI <kind> <token>[ <server>]`, and the addresses that are dialled. Pure."""

from __future__ import annotations

from _operator import _compare_digest  # what hmac.compare_digest is; importing hmac would import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional, Tuple, Union

__all__ = ["MAX_HELLO_BYTES", "Hello", "address", "hello_line", "is_token", "read_hello"]

MAX_HELLO_BYTES = 512

_NAMES_SERVER = {"mcp": (False, True), "environment": (True,)}
"""Kind -> whether its hello may name a server. Other kinds may not."""


class Hello:
    """A connection that is let in: its kind, and the server that it named."""

    __slots__ = ("kind", "server")

    def __init__(self, kind: str, server: Optional[str]) -> None:
        self.kind = kind
        self.server = server


def hello_line(kind: str, token: str, server: Optional[str] = None) -> bytes:
    return f"ARCI {kind} {token}{'' if server is None else ' ' + server}\n".encode("ascii")


def read_hello(line: bytes, tokens: Mapping[str, str]) -> Optional[Hello]:
    """None if `line` is no hello or its token is wrong. `tokens`: kind -> the token it must carry (ASCII)."""
    parts = line.split(b" ")
    if len(parts) not in (3, 4) or parts[0] != b"ARCI":
        return None
    kind = parts[1].decode("ascii", "replace")
    expected = tokens.get(kind)
    if expected is None or not is_token(parts[2], expected):
        return None
    if (len(parts) == 4) not in _NAMES_SERVER.get(kind, (False,)):
        return None
    return Hello(kind, parts[3].decode("ascii", "replace") if len(parts) == 4 else None)


def is_token(said: bytes, expected: str) -> bool:
    """Compared in a time that does not tell how much of it is right."""
    return bool(_compare_digest(said, expected.encode("ascii")))


def address(text: str) -> Tuple[str, Union[str, Tuple[str, int]]]:
    """`unix:/path` -> ("unix", path); `tcp:HOST:PORT` -> ("tcp", (host, port)). ValueError for anything else."""
    scheme, _, rest = text.partition(":")
    if scheme == "unix" and rest.startswith("/"):
        return "unix", rest
    host, _, port = rest.rpartition(":")
    if scheme == "tcp" and host and port.isdigit() and int(port) < 65536:
        return "tcp", (host, int(port))
    raise ValueError(f"address: {text!r}; unix:/path or tcp:HOST:PORT")
