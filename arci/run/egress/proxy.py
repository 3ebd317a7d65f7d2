"""The settings of this machine that outside calls heed: the proxy asked for by name, and further authorities. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

__all__ = ["CA_VARIABLE", "PROXY_VARIABLE", "Proxy", "proxy_of"]

PROXY_VARIABLE = "ARCI_HTTPS_PROXY"
"""HTTPS_PROXY and its kin are not heeded: what is set for a shell was not meant for every model call of a gate."""
CA_VARIABLE = "ARCI_CA_BUNDLE"
"""A PEM file of authorities trusted besides the system's own (a company's proxy)."""

_PROXY = re.compile(
    r"(?P<url>https?://)(?:(?P<user>[^\s:@/]+)(?::(?P<password>[^\s@/]*))?@)?"
    r"(?P<at>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?P<port>:[0-9]{1,5})?/?"
)


@dataclass(frozen=True, slots=True)
class Proxy:
    url: str
    """Without user and password."""
    auth: tuple[str, str] | None = field(repr=False)


def proxy_of(env: Mapping[str, str]) -> Proxy | None:
    """The proxy that https upstreams beyond this machine are called through. ValueError for what is no proxy's URL."""
    text = env.get(PROXY_VARIABLE, "")
    if not text:
        return None
    found = _PROXY.fullmatch(text)
    if found is None:
        raise ValueError("is no URL of a proxy; http://host:port or https://host:port, user:password@ before the host.")
    auth = (unquote(found["user"]), unquote(found["password"] or "")) if found["user"] else None
    return Proxy(found["url"] + found["at"] + (found["port"] or ""), auth)
