"""Connect to where an engine listens: a Unix socket, TCP, or TLS with the files of a context or of the environment."""

from __future__ import annotations

import errno
import socket
import ssl
from urllib.parse import urlsplit

import anyio
import docker.utils
import requests.utils
from urllib3.util.ssl_ import create_urllib3_context

from arci.isolation.docker.connection import Connection
from arci.isolation.docker.endpoint import Endpoint, TlsFiles
from arci.isolation.docker.threads import in_thread

__all__ = ["Dialer"]

_UNIX = "http+unix://"
_CONNECT_S = 60.0
_BACKLOG_S = 0.01
"""How soon a Unix socket whose queue is full is tried again: the kernel tells nobody when there is room."""


class Dialer:
    """Reads an engine's address as the library does. DockerException for one that it does not take."""

    def __init__(self, endpoint: Endpoint) -> None:
        url = str(docker.utils.parse_host(endpoint.url, tls=endpoint.tls is not None))
        self._socket_path = "/" + url.removeprefix(_UNIX).lstrip("/") if url.startswith(_UNIX) else None
        parts = urlsplit(url)
        self._files = endpoint.tls or TlsFiles(None, None, None, verify=True) if parts.scheme == "https" else None
        self._context: ssl.SSLContext | None = None  # made once: it reads files
        self._address = (parts.hostname or "localhost", parts.port or 0)
        is_unix = self._socket_path is not None
        self.host = "localhost" if is_unix else parts.netloc
        """What a request names as its host."""
        self.prefix = "" if is_unix else parts.path.rstrip("/")
        """What stands before the path of every request."""

    async def dial(self) -> Connection:
        """A new connection. OSError (of which ssl.SSLError is one) where there is none to be had."""
        if self._socket_path is not None:
            return await _unix(self._socket_path)
        return Connection(await in_thread(self._tcp))

    def _tcp(self) -> socket.socket:
        sock = socket.create_connection(self._address, _CONNECT_S)
        try:
            # Requests are small, and each is waited for.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._files is None:
                return sock
            self._context = self._context or _tls(self._files)
            return self._context.wrap_socket(sock, server_hostname=self._address[0])
        except BaseException:
            sock.close()
            raise


async def _unix(path: str) -> Connection:
    while True:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.setblocking(False)
            sock.connect(path)
            return Connection(sock)
        except OSError as error:
            sock.close()
            if error.errno != errno.EAGAIN:
                raise
        await anyio.sleep(_BACKLOG_S)


def _tls(files: TlsFiles) -> ssl.SSLContext:
    """As the library's own connections have it."""
    context = create_urllib3_context()
    context.check_hostname = files.verify
    context.verify_mode = ssl.CERT_REQUIRED if files.verify else ssl.CERT_NONE
    if files.verify:
        context.load_verify_locations(files.ca or requests.utils.DEFAULT_CA_BUNDLE_PATH)
    if files.cert and files.key:
        context.load_cert_chain(files.cert, files.key)
    return context
