"""The one HTTP client of the project. It follows no redirect, keeps no cookie, and heeds no proxy or netrc of its own.

Its transports are used directly: what a client object adds to them (cookies, redirects, headers, environment) is what
must not happen here.
"""

from __future__ import annotations

import anyio
import httpx

from arci.run.egress.address import Address
from arci.run.egress.answer import Answer
from arci.run.egress.failure import CallFailed, Failure
from arci.run.egress.permission import check_permitted
from arci.run.egress.proxy import Proxy
from arci.run.egress.routes import Outgoing
from arci.run.egress.trust import tls_context
from arci.run.egress.upstream import Upstream
from arci.run.egress.wire_errors import wire_failure
from arci.run.masking import Masks

__all__ = ["Client"]

_KEEP_ALIVE_S = 15.0
"""Shorter than what servers and balancers keep idle connections for, so that they seldom close one under a request."""
_LATE = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
"""Breaks before the head of an answer: no connection, or one that was closed under the request."""


class Client:
    """`connections`: as many calls as can be under way at once, over all upstreams."""

    def __init__(
        self, connections: int, masks: Masks, *, proxy: Proxy | None = None, ca_bundle: str | None = None
    ) -> None:
        check_permitted()
        limits = httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=_KEEP_ALIVE_S
        )
        tls = tls_context(ca_bundle)
        self._masks = masks
        self._direct = httpx.AsyncHTTPTransport(verify=tls, trust_env=False, http2=False, limits=limits)
        self._beyond = self._direct
        if proxy is not None:
            of_proxy = tls if proxy.url.startswith("https:") else None
            through = httpx.Proxy(proxy.url, auth=proxy.auth, ssl_context=of_proxy)
            self._beyond = httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits, proxy=through)

    async def send(self, upstream: Upstream, request: Outgoing, key: str | None) -> Answer:
        """The answer, once its head is here; within the upstream's `request_seconds`. CallFailed else."""
        check_permitted()
        transport = self._direct if upstream.address.is_loopback else self._beyond
        may_resend = False
        try:
            with anyio.fail_after(upstream.request_seconds):
                response = await transport.handle_async_request(_request(upstream, request, key))
                return Answer(response, upstream.request_seconds, self._masks)
        except TimeoutError:
            failure = Failure("timeout", f"no answer within {upstream.request_seconds:g} s")
        except Exception as error:  # also what the client forgets to map: a trial must not end by a traceback
            failure = wire_failure(error, self._masks)
            may_resend = isinstance(error, _LATE)
        # Raised out here, so that the error, whose text may quote a header, is no context of it.
        raise CallFailed(failure, may_resend=may_resend)

    async def close(self) -> None:
        """Closes every connection."""
        with anyio.CancelScope(shield=True):
            await self._direct.aclose()
            await self._beyond.aclose()


def _request(upstream: Upstream, request: Outgoing, key: str | None) -> httpx.Request:
    headers = [*request.headers, ("accept-encoding", "identity"), *_key_header(upstream.kind, key)]
    return httpx.Request(
        request.method,
        _url(upstream.address, request.target),
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers],
        content=request.body or None,
        extensions={"timeout": {}},  # deadlines are ours: the client's begin anew with every byte
    )


def _url(address: Address, target: str) -> httpx.URL:
    return httpx.URL(
        scheme=address.scheme, host=address.host, port=address.port, raw_path=(target or "/").encode("ascii")
    )


def _key_header(kind: str, key: str | None) -> list[tuple[str, str]]:
    if key is None:
        return []
    return [("x-api-key", key)] if kind == "anthropic" else [("authorization", f"Bearer {key}")]
