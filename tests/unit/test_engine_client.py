"""Our client asks an engine for the same, in the same words, as the library's own does."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from arci.isolation.docker.client import Client

ID = "0123456789abcdef"
CALLS: dict[str, Callable[[Any], Any]] = {
    "create": lambda api: api.create_container_from_config({"Image": "é", "Labels": {"a b": "ü"}}, "arci-x"),
    "start": lambda api: api.start(ID),
    "inspect": lambda api: api.inspect_container(ID),
    "kill": lambda api: api.kill(ID, "SIGKILL"),
    "remove": lambda api: api.remove_container(ID, v=True, force=True),
    "list": lambda api: api.containers(all=True, filters={"label": ["dev.arci.run=a b&c"]}),
    "volume": lambda api: api.create_volume("v", "local", {"o": "size=1"}, {"l": "1"}),
    "archive": lambda api: list(api.get_archive(ID, "/a path/ü")[0]),
    "upload": lambda api: api.put_archive(ID, "/work", b"tar"),
    "attach": lambda api: hang_up(api.attach_socket(ID, {"stdin": 1, "stream": 1})),
}


def hang_up(attached: Any) -> None:
    attached._sock.close()
    attached.close()


class Handler(socketserver.StreamRequestHandler):
    """Keeps a request as it came and answers an empty object."""

    server: Engine

    def handle(self) -> None:
        self.server.connections += 1
        while (line := self.rfile.readline()).strip():
            fields = {}
            while (field := self.rfile.readline()).strip():
                name, _, value = field.decode().partition(": ")
                fields[name.lower()] = value.strip()
            body = self.rfile.read(int(fields.get("content-length", 0)))
            self.server.heard.append((line, fields, body))
            if b"/attach" in line:
                self.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
                return
            stat = b"X-Docker-Container-Path-Stat: e30=\r\n" if b"archive" in line else b""
            self.wfile.write(b"HTTP/1.1 200 OK\r\n%bContent-Length: 2\r\n\r\n{}" % stat)


class Engine(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    heard: list[tuple[bytes, dict[str, str], bytes]]
    connections = 0


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(str(tmp_path / "sock"), Handler) as server:
        server.heard = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def said(kind: type[docker.APIClient], engine: Engine, call: Callable[[Any], Any]) -> list[Any]:
    engine.heard.clear()
    api = kind(base_url=f"unix://{engine.server_address}", version="1.41")
    try:
        call(api)
    finally:
        api.close()
    return list(engine.heard)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_request_is_what_the_library_sends(call: Callable[[Any], Any], engine: Engine) -> None:
    theirs, ours = said(docker.APIClient, engine, call), said(Client, engine, call)
    assert len(theirs) == 1
    assert ours == theirs


def test_the_environment_is_not_asked_for_a_proxy(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy for the web is none for a socket of this machine."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert len(said(Client, engine, CALLS["inspect"])) == 1


def test_a_connection_is_used_again(engine: Engine) -> None:
    said(Client, engine, lambda api: [api.inspect_container(ID) for _ in range(3)])
    assert (len(engine.heard), engine.connections) == (3, 1)


def test_an_error_is_the_librarys(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Handler) -> None:
        self.rfile.readline()
        self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n" + b'{"message":"gone"}')

    monkeypatch.setattr(Handler, "handle", refuse)
    with pytest.raises(docker.errors.NotFound, match="gone"):
        said(Client, engine, CALLS["inspect"])
