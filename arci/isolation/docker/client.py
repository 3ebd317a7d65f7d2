"""The library's client of the engine's API, without what it does anew for each call."""

from __future__ import annotations

from typing import Any

import docker
import requests
from requests.cookies import RequestsCookieJar
from requests.hooks import default_hooks

__all__ = ["Client"]


class Client(docker.APIClient):
    """The library's low-level client, without its habit of asking credential helpers before every build."""

    def _set_auth_headers(self, headers: dict[str, str]) -> None:
        """A configured but absent helper would break builds from local images; pulls ask by themselves."""

    def request(  # type: ignore[override]  # whatever the library passes
        self, method: str, url: str, *args: Any, **options: Any
    ) -> requests.Response:
        """As the library's session would, but for a Unix socket it looks up no proxy, no certificate, no password file
        and no cookie: half of what a call costs us."""
        data = options.get("data")
        if args or options.keys() - _PLAIN or not url.startswith("http+docker://") or not _is_text(data):
            return super().request(method, url, *args, **options)
        headers = {**self.headers, **(options.get("headers") or {})}
        streams = bool(options.get("stream"))
        prepared = _prepared(method, url, options.get("params"), headers, data)
        answer = self.get_adapter(url).send(prepared, stream=streams, timeout=options.get("timeout"))
        if not streams:
            answer.content  # noqa: B018  # read to its end, so that the connection can be used again
        return answer


_PLAIN = {"params", "data", "headers", "timeout", "stream", "allow_redirects"}
"""The options that we know how to heed."""


def _is_text(data: Any) -> bool:
    """None, or what is sent as it stands; not a file, an archive or a form."""
    return data is None or isinstance(data, (str, bytes))


def _prepared(method: str, url: str, params: Any, headers: Any, data: Any) -> requests.PreparedRequest:
    request = requests.PreparedRequest()
    request.prepare_method(method)
    request.prepare_url(url, params)
    request.prepare_headers(headers)
    request.prepare_body(data, None)
    request.hooks = default_hooks()
    request._cookies = RequestsCookieJar()  # type: ignore[attr-defined]  # the adapter reads it
    return request
