"""Build an image with the engine's classic builder, from a build context that is a tar in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import docker

from arci.errors import EngineError
from arci.isolation.docker.engine import Engine

__all__ = ["BuildFailed", "BuildRequest", "build"]

_BUILD_S = 3600.0
_LOG_LINES = 40
"""How much of a failed build's log is shown."""


class BuildFailed(EngineError):
    """The Dockerfile did not build: a step failed. `log` is everything that the builder said."""

    def __init__(self, operation: str, message: str, log: str) -> None:
        super().__init__(operation, message)
        self.log = log


@dataclass(frozen=True, slots=True)
class BuildRequest:
    tag: str
    labels: Mapping[str, str]
    args: Mapping[str, str] = field(default_factory=dict)
    dockerfile: str = "Dockerfile"
    target: str | None = None
    platform: str | None = None


async def build(engine: Engine, context: BinaryIO, request: BuildRequest) -> str:
    """The image's id on this engine, tagged only when every step has succeeded. BuildFailed names the failing step."""
    operation = f"build {request.tag}"
    messages = await engine.call(operation, _build, engine.api, context, request, timeout_s=_BUILD_S)
    image_id, problem = judge_build(messages)
    if problem is not None:
        log = build_log(messages)
        tail = "\n".join(log.splitlines()[-_LOG_LINES:])
        raise BuildFailed(operation, f"{problem}\n{tail}", log)
    assert image_id is not None
    return image_id


def _build(api: docker.APIClient, context: BinaryIO, request: BuildRequest) -> list[dict[str, Any]]:
    stream = api.build(
        fileobj=context,
        custom_context=True,
        tag=request.tag,
        buildargs=dict(request.args),
        labels=dict(request.labels),
        dockerfile=request.dockerfile,
        target=request.target or "",
        platform=request.platform,
        rm=True,
        forcerm=True,
        decode=True,
        use_config_proxy=True,
        timeout=int(_BUILD_S),
    )
    return list(stream)


def judge_build(messages: Iterable[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """(image id, None), or (None, what went wrong and at which step). A build without an id at its end failed. Pure."""
    step, image_id = "before the first step", None
    for message in messages:
        text = str(message.get("stream", ""))
        if text.startswith("Step "):
            step = text.strip()
        if "error" in message:
            return None, f"failed at {step}: {message['error']}"
        image_id = (message.get("aux") or {}).get("ID", image_id)
    if image_id is None:
        return None, f"the builder stopped at {step} without an image."
    return image_id, None


def build_log(messages: Iterable[Mapping[str, Any]]) -> str:
    """Everything the builder said, as text. Pure."""
    return "".join(str(m.get("stream") or m.get("error") or "") for m in messages)
