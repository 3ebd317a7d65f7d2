"""The base URL of an upstream, taken apart once and by one strict grammar: no second parser can differ. Pure."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

__all__ = ["Address", "parse_address"]

_URL = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:@-]*)*)"
)
_PORTS = {"http": 80, "https": 443}
_LOOPBACK_4 = ipaddress.ip_network("127.0.0.0/8")
_LOOPBACK_6 = ipaddress.ip_address("::1")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an upstream is. `host` is lower case, an IPv6 address without brackets; `path` has no slash at its end."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_loopback(self) -> bool:
        """127.0.0.0/8, ::1 or `localhost`, written so. No other spelling and no name that resolves to one of them."""
        if self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return address in _LOOPBACK_4 if address.version == 4 else address == _LOOPBACK_6

    @property
    def origin(self) -> str:
        """For people: `host`, with the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_address(base_url: str) -> Address:
    """The address that `base_url` names. ValueError, `what is wrong; what is allowed.`, for what is no plain URL."""
    found = _URL.fullmatch(base_url)
    if found is None:
        raise ValueError(_complaint(base_url))
    port = int(found["port"]) if found["port"] else _PORTS[found["scheme"]]
    if not 0 < port < 65536:
        raise ValueError(f"has the port {port}; 1 to 65535 are allowed.")
    path = found["path"].rstrip("/")
    if any(part in ("", ".", "..") for part in path.split("/")[1:]):
        raise ValueError(f"has the path {path!r}; parts that are empty, `.` or `..` are not allowed.")
    address = Address(found["scheme"], _host(found["host"]), port, path)
    if address.scheme == "http" and not address.is_loopback:
        raise ValueError(
            f"is http to {address.host}, where everyone on the way could read the key; "
            "https, or a loopback address (127.0.0.0/8, ::1, localhost)."
        )
    return address


def _host(text: str) -> str:
    if not text.startswith("["):
        return text.lower()
    try:
        return str(ipaddress.IPv6Address(text[1:-1]))
    except ValueError:
        raise ValueError(f"has the host {text}, which is no IPv6 address.") from None


def _complaint(base_url: str) -> str:
    """Never quotes what may be a password."""
    authority = base_url.partition("://")[2].partition("/")[0]
    if "@" in authority:
        return "has a user name or password before the host; the key is taken from the environment by its name alone."
    if "#" in base_url or "?" in base_url:
        return "has a query or a fragment; scheme, host, port and path are allowed."
    return f"{base_url[:200]!r} is no URL such as https://host/v1; https, an ASCII host, port and path are allowed."
