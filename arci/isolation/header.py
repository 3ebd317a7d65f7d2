"""What `arci-init` reads first on its stdin: what to lay down before the guest starts, and what the guest is. Pure."""

from __future__ import annotations

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec

__all__ = ["init_header"]


def init_header(process: ProcessSpec) -> bytes:
    """The header of docs/reference/control-channel.md, whole. EngineError for a path that no line can carry."""
    made = [b"mkdir %s\n" % _path(path) for path in process.directories]
    put = [b"put %d %s\n%s" % (len(data), _path(path), data) for path, data in process.files.items()]
    return b"".join((*made, *put, _kind(process)))


def _path(path: str) -> bytes:
    if not path.startswith("/") or "\n" in path or "\0" in path:
        raise EngineError("start a guest", f"{path!r} cannot be made; an absolute path on one line is required.")
    return path.encode("utf-8", "surrogateescape")


def _kind(process: ProcessSpec) -> bytes:
    if process.serve is not None:
        name, token = process.serve
        return f"serve {token} {name}\n".encode()
    if process.status_token is not None:
        return f"status {process.status_token}\n".encode()
    body = process.stdin or b""
    return b"feed %d\n%s" % (len(body), body)
