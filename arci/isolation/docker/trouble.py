"""The one table from foreign errors (docker, requests, urllib3, the operating system) to EngineError. Pure."""

from __future__ import annotations

import http.client
import re

import docker.errors
import requests.exceptions
import urllib3.exceptions

from arci.errors import EngineError
from arci.isolation.docker.http import Refused

__all__ = ["FOREIGN", "engine_error", "is_not_running", "late_error", "mute_error"]

FOREIGN = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    Refused,
    OSError,
)
"""Whatever the client library, or our own, lets through."""

_TIMEOUTS = (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)

_HINTS = (
    (r"no space left on device", "docker system df; arci images prune"),
    (r"\[Errno 13\]", "add yourself to the `docker` group, or use a rootless engine"),
    (r"exec format error", "the image is for another architecture; see `isolation.platform`"),
    (r"toomanyrequests|rate limit", "docker login, or load the image from a file: arci images load FILE"),
    (r"speaks API version", "update the engine, or set DOCKER_HOST to a newer one"),
    (r"client version .* is too (new|old)", "update the engine, or the Python package `docker`"),
)
"""Pattern in the message (case ignored) -> what a person can do."""


def engine_error(operation: str, error: BaseException) -> EngineError:
    """What `error` means in ARCI's words: operation, HTTP status where there was an answer, message, hint."""
    if isinstance(error, docker.errors.APIError):
        message = str(error.explanation or error)
        return EngineError(operation, _sentence(message), status=error.status_code, hint=_hint(message))
    if isinstance(error, Refused):
        return EngineError(operation, _sentence(error.message), status=error.status, hint=_hint(error.message))
    if _is_timeout(error):
        return EngineError(operation, "the engine did not answer in time.")
    message = str(error) or type(error).__name__
    if isinstance(error, docker.errors.DockerException):
        return EngineError(operation, _sentence(message), hint=_hint(message))
    if _is_broken_connection(error):
        reason = _innermost(error)
        return EngineError(operation, _sentence(f"the connection to the engine broke: {reason}"), hint=_hint(reason))
    return EngineError(operation, _sentence(message), hint=_hint(message))


def mute_error(operation: str, waited_s: float) -> EngineError:
    """For an engine that takes connections and says nothing on them, not even to a ping."""
    return EngineError(
        operation,
        f"the engine is mute: it takes connections and does not answer a ping within {waited_s:g} s.",
        hint="wake or restart the engine (`docker version` shows whether it answers), then do the same again",
    )


def late_error(operation: str, waited_s: float) -> EngineError:
    """For a call without an answer, whatever the engine says to others."""
    return EngineError(
        operation,
        f"the engine did not answer within {waited_s:g} s.",
        hint="`docker ps` shows whether it answers; restart it if it does not",
    )


def is_not_running(error: EngineError) -> bool:
    """True if a container could not be signalled since it is gone or has ended: what was wanted."""
    # Podman has no status of its own for it (tried with 4.3).
    return error.status in (404, 409) or (error.status == 500 and "container state improper" in error.message)


def _is_timeout(error: BaseException) -> bool:
    """A read that timed out comes as ReadTimeout or inside a ConnectionError, by where it was raised."""
    refused = urllib3.exceptions.NewConnectionError  # a connection refused at once is a timeout to urllib3, not to us
    return any(isinstance(e, _TIMEOUTS) and not isinstance(e, refused) for e in _causes(error))


def _is_broken_connection(error: BaseException) -> bool:
    foreign = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, http.client.HTTPException)
    return isinstance(error, (*foreign, ConnectionError, EOFError))


def _causes(error: BaseException) -> list[BaseException]:
    found, todo = [], [error]
    while todo:
        current = todo.pop(0)
        if current in found:
            continue
        found.append(current)
        inner = (*current.args, current.__cause__, current.__context__, getattr(current, "reason", None))
        todo.extend(e for e in inner if isinstance(e, BaseException))
    return found


def _innermost(error: BaseException) -> str:
    last = _causes(error)[-1]
    return str(last) or type(last).__name__


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _hint(message: str) -> str | None:
    return next((hint for pattern, hint in _HINTS if re.search(pattern, message, re.IGNORECASE)), None)
