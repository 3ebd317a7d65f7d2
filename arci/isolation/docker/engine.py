"""The only place that makes a docker client: finds the engine, agrees on a version, and calls it: from worker threads,
or on the event loop what is asked for every container.

Every call has a deadline of our own (a socket timeout is none), one that takes long is given up once the engine answers
nothing at all, and every foreign error leaves as EngineError.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import docker
import docker.constants
import docker.errors
import docker.tls
import docker.utils
import docker.utils.config

from arci.errors import EngineError, EngineUnavailable
from arci.isolation.docker.client import Client
from arci.isolation.docker.dial import Dialer
from arci.isolation.docker.dialect import LIBPOD_HEADER
from arci.isolation.docker.endpoint import Endpoint, TlsFiles, find_endpoints
from arci.isolation.docker.http import Http
from arci.isolation.docker.threads import begin_in_thread, in_thread
from arci.isolation.docker.trouble import FOREIGN, engine_error, late_error, mute_error

__all__ = ["FORBIDDEN", "NEWEST_VERSION", "Engine", "connect"]

T = TypeVar("T")

FORBIDDEN: str | None = None
"""Why no engine may be used in this process (tests without the marker); None where one may."""

_PING_S = 10.0
_PATIENCE_S = 10.0
"""A call that takes longer makes us ask whether the engine answers anything."""
_SILENCE_S = 20.0
"""A ping that is not answered for so long is the sign that it does not: far above what a loaded engine takes."""
_STILL_SILENT_S = 5.0
"""The same before each call to an engine that was found mute."""
_MUTE_S = 10.0
"""Deadline of an ordinary call to such an engine: it may answer pings alone, and many calls may be due."""
_ORDINARY_S = 60.0
"""A call that has longer (builds, transfers) keeps its deadline: it is known to take its time."""
_SOCKET_S = 600
"""What ends a worker thread whose call was given up; far above every deadline of `Engine.call`."""
_THREADS = 64
_OLDEST_VERSION = docker.constants.MINIMUM_DOCKER_API_VERSION
NEWEST_VERSION = docker.constants.DEFAULT_DOCKER_API_VERSION
"""Of the API, as far as the client library knows it."""


class Engine:
    """An engine that answered. `api` is the library's client, for functions given to `call`; `http` is for `ask`."""

    def __init__(self, api: docker.APIClient, endpoint: Endpoint, *, is_podman: bool = False) -> None:
        self.api = api
        self.http = Http(Dialer(endpoint), api.api_version, _headers())
        self.is_podman = is_podman
        self.endpoint = endpoint.url
        self.why = endpoint.why
        self._close = weakref.finalize(self, _close, api, self.http)
        self._limiter = anyio.CapacityLimiter(_THREADS)
        self.is_mute = False
        """It has answered no call since one was given up: what can wait for another time should."""
        self._heard_s = -math.inf  # when a call was last answered, on the event loop's clock

    async def call(self, operation: str, function: Callable[..., T], *args: Any, timeout_s: float, **kwargs: Any) -> T:
        """`function(*args, **kwargs)` in a worker thread. EngineError for whatever the client raises, and when
        `timeout_s` seconds have passed or the engine is mute: the call is then given up, and may still take effect.

        As long as the engine is mute an ordinary call has less time, so that what is due after one another ends soon.
        """
        work = partial(function, *args, **kwargs)
        return await self._within(operation, lambda: begin_in_thread(work), timeout_s)

    async def ask(self, operation: str, function: Callable[..., Awaitable[T]], *args: Any, timeout_s: float) -> T:
        """`await function(*args)`, which asks `http`; otherwise as `call`."""
        return await self._within(operation, lambda: asyncio.ensure_future(function(*args)), timeout_s)

    async def _within(self, operation: str, begin: Callable[[], asyncio.Future[T]], timeout_s: float) -> T:
        is_short = self.is_mute and _MUTE_S < timeout_s <= _ORDINARY_S
        limit_s, begun_s = _MUTE_S if is_short else timeout_s, anyio.current_time()
        with anyio.move_on_after(limit_s):
            if self.is_mute:
                await self._expect_a_sign(operation, _STILL_SILENT_S)
            try:
                async with self._limiter:
                    return await self._answered(operation, begin())
            except FOREIGN as error:
                raise engine_error(operation, error) from error
        self.is_mute = self.is_mute or self._heard_s < begun_s
        raise late_error(operation, limit_s)

    async def _answered(self, operation: str, answer: asyncio.Future[T]) -> T:
        """What the call gives, however long it takes, as long as the engine answers a ping meanwhile."""
        try:
            while not (await asyncio.wait((answer,), timeout=_PATIENCE_S))[0]:
                await self._expect_a_sign(operation, _SILENCE_S)
            self._heard_s, self.is_mute = anyio.current_time(), False
            return answer.result()
        finally:
            answer.cancel()

    async def _expect_a_sign(self, operation: str, limit_s: float) -> None:
        """EngineError if a ping is not answered within `limit_s`. One that breaks is no silence: the call says more."""
        with anyio.move_on_after(limit_s):
            with suppress(*FOREIGN):
                await in_thread(partial(_ping, self.api, timeout_s=_SOCKET_S))
            return
        self.is_mute = True
        raise mute_error(operation, limit_s)

    def close(self) -> None:
        """Close the pooled connections. Attached streams live on. Idempotent, and done at the latest with its end."""
        self._close()


async def connect() -> Engine:
    """The engine to use, found as `docker` finds it. EngineUnavailable names the endpoint and why it was chosen."""
    if FORBIDDEN is not None:
        raise RuntimeError(FORBIDDEN)
    refused: EngineUnavailable | None = None
    for endpoint in find_endpoints(os.environ, Path.home()):
        try:
            return await _connect_to(endpoint)
        except EngineUnavailable as error:
            refused = refused or error
    assert refused is not None
    raise refused


async def _connect_to(endpoint: Endpoint) -> Engine:
    with anyio.move_on_after(_PING_S):
        try:
            api, is_podman = await in_thread(partial(_open, endpoint))
        except FOREIGN as error:
            raise _unavailable(endpoint, engine_error("connect", error)) from error
        return Engine(api, endpoint, is_podman=is_podman)
    raise _unavailable(endpoint, mute_error("connect", _PING_S))


def _open(endpoint: Endpoint) -> tuple[docker.APIClient, bool]:
    """A client, and whether it talks to Podman. Two clients, because the library fixes the version in the first one's
    constructor."""
    _dial(endpoint.url)
    first = _client(endpoint, _OLDEST_VERSION, timeout_s=_SOCKET_S)
    try:
        answer = _ping(first, timeout_s=_SOCKET_S)
        version = _agreed(answer.headers.get("API-Version"))
        is_podman = LIBPOD_HEADER in answer.headers
    finally:
        first.close()
    return _client(endpoint, version, timeout_s=_SOCKET_S), is_podman


def _ping(api: docker.APIClient, *, timeout_s: float) -> Any:
    """The engine's answer, a `requests.Response`."""
    # Without a version in the path: some engines and proxies answer no other ping.
    answer = api.get(f"{api.base_url}/_ping", timeout=timeout_s)
    answer.raise_for_status()
    return answer


def _dial(url: str) -> None:
    """Raises OSError where nobody listens on a Unix socket: the library would leave its own socket open then."""
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_PING_S)
            probe.connect(url.removeprefix("unix://"))


def _agreed(offered: str | None) -> str:
    if not offered:
        return _OLDEST_VERSION
    if docker.utils.version_lt(offered, _OLDEST_VERSION):
        raise docker.errors.DockerException(f"it speaks API version {offered}; {_OLDEST_VERSION} or newer is needed")
    return offered if docker.utils.version_lt(offered, NEWEST_VERSION) else NEWEST_VERSION


def _client(endpoint: Endpoint, version: str, *, timeout_s: int) -> docker.APIClient:
    client = Client(
        base_url=endpoint.url,
        version=version,
        timeout=timeout_s,
        tls=_tls(endpoint.tls) if endpoint.tls is not None else False,
        max_pool_size=_THREADS,
    )
    # A proxy or CA bundle of the environment is for the outside world, never for the engine.
    client.trust_env = False
    return client


def _headers() -> dict[str, str]:
    """As the library's client: `HttpHeaders` of docker's configuration is for proxies that ask who comes."""
    configured: dict[str, str] = docker.utils.config.load_general_config().get("HttpHeaders") or {}
    return {"User-Agent": docker.constants.DEFAULT_USER_AGENT, **configured}


def _close(api: docker.APIClient, http: Http) -> None:
    http.close()
    api.close()


def _tls(files: TlsFiles) -> docker.tls.TLSConfig:
    pair = (files.cert, files.key) if files.cert and files.key else None
    return docker.tls.TLSConfig(client_cert=pair, ca_cert=files.ca, verify=files.verify)


def _unavailable(endpoint: Endpoint, error: EngineError) -> EngineUnavailable:
    reason = error.message.removeprefix("connect: ")
    hint = error.hint or "start the engine, or set DOCKER_HOST; `--isolation process` needs no engine"
    return EngineUnavailable(f"container engine at {endpoint.url} (chosen because {endpoint.why}): {reason}", hint=hint)
