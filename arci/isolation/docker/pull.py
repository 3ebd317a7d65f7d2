"""Get an image from its registry. Credentials are asked for here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import docker
import docker.errors
import docker.utils

from arci.errors import EngineError
from arci.isolation.docker.engine import Engine

__all__ = ["pull"]

_BEGIN_S = 20.0
"""How long a registry may take to answer at all."""
_PULL_S = 1800.0


async def pull(engine: Engine, reference: str, *, platform: str | None = None) -> None:
    """Pull `reference` (`repo[:tag]` or `repo@digest`; no tag means `latest`). EngineError if it is not to be had."""
    operation = f"pull {reference}"
    stream = await engine.call(operation, _begin, engine.api, reference, platform, timeout_s=_BEGIN_S)
    trouble = await engine.call(operation, _finish, stream, timeout_s=_PULL_S)
    if trouble is not None:
        raise EngineError(operation, trouble)


def _begin(api: docker.APIClient, reference: str, platform: str | None) -> Iterator[dict[str, Any]]:
    repository, tag = docker.utils.parse_repository_tag(reference)
    wanted: dict[str, Any] = {"tag": tag or "latest", "stream": True, "decode": True, "platform": platform}
    stream: Iterator[dict[str, Any]]
    try:
        stream = api.pull(repository, **wanted)
    except docker.errors.APIError:
        raise
    except docker.errors.DockerException:
        # A credential helper that is configured and absent: a public image needs none.
        stream = api.pull(repository, auth_config={}, **wanted)
    return stream


def _finish(stream: Iterator[dict[str, Any]]) -> str | None:
    """Reads to the end; the engine's words if it failed on the way (the HTTP status was sent long before)."""
    for message in stream:
        if "error" in message:
            return f"{message['error']}."
    return None
