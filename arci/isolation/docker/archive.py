"""Fetch files out of a container with the engine's archive API, which is only safe along a path without links."""

from __future__ import annotations

from itertools import accumulate, islice
from typing import Any

import docker.utils

from arci.errors import EngineError
from arci.isolation.docker.engine import Engine

__all__ = ["fetch"]

_CALL_S = 60.0
_IS_DIRECTORY = 1 << 31
"""In a file's mode as engines tell it (Go's)."""


async def fetch(engine: Engine, container_id: str, root: str, path: str, limit_bytes: int) -> bytes:
    """A tar archive of `path` below `root`, both as the container sees them; `.` is all of `root`.

    FileNotFoundError where there is no such path without a link on the way to it; ValueError over the limit. Whom an
    agent could have told what to do must be dead: a directory could be changed for a link between our look and the
    engine's. So an agent's files, and those of servers that it has called, are read when they have ended.
    """
    try:
        data = await engine.call(
            "read a workdir", _fetch, engine.api, container_id, root, path, limit_bytes, timeout_s=_CALL_S
        )
    except EngineError as error:
        if error.status == 404:
            raise FileNotFoundError(path) from None
        raise
    if data is None:
        raise FileNotFoundError(path)
    return data


def _fetch(api: Any, container_id: str, root: str, path: str, limit_bytes: int) -> bytes | None:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        return None
    *above, last = parts or ["."]  # the engine names the members of `.` relative to it
    for directory in islice(accumulate(above, "{}/{}".format, initial=root), 1, None):
        # The engine follows links on the way, all over its container; only the last part it takes as it is.
        if not _mode(api, container_id, directory) & _IS_DIRECTORY:
            return None
    return _read(api, container_id, "/".join((root, *above, last)), limit_bytes)


def _mode(api: Any, container_id: str, path: str) -> int:
    answer = api.head(api._url("/containers/{0}/archive", container_id), params={"path": path}, timeout=api.timeout)
    api._raise_for_status(answer)
    mode: int = docker.utils.decode_json_header(answer.headers["X-Docker-Container-Path-Stat"])["mode"]
    return mode


def _read(api: Any, container_id: str, path: str, limit_bytes: int) -> bytes:
    chunks, _ = api.get_archive(container_id, path)
    data = bytearray()
    try:
        for chunk in chunks:
            data += chunk
            if len(data) > limit_bytes:
                raise ValueError(f"{path}: its archive is over {limit_bytes} bytes.")
    finally:
        chunks.close()
    return bytes(data)
