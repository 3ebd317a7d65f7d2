"""What is asked for every container: the same requests as the library's, over connections that are kept."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import docker
import pytest

from arci.errors import EngineError
from arci.isolation.docker import container_calls
from arci.isolation.docker import http as http_module
from arci.isolation.docker.dial import Dialer
from arci.isolation.docker.endpoint import Endpoint, TlsFiles
from arci.isolation.docker.http import Http, Refused
from arci.isolation.docker.trouble import FOREIGN, engine_error

ID = "0123456789abcdef"
CONFIG = {"Image": "é", "Labels": {"a b": "ü"}}
VOLUME = {"name": "v", "driver": "local", "driver_opts": {"o": "size=1"}, "labels": {"l": "1"}}
Answer = bytes | tuple[bytes] | None
"""What a script says to a request: that, or that alone, and hangs up, or nothing, and hangs up."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
UPGRADED = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
RAW_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"
LIMIT_S = 60.0

CALLS: dict[str, tuple[Callable[[Http], Awaitable[Any]], Callable[[Any], Any], bytes]] = {
    "create": (
        lambda http: container_calls.create(http, CONFIG, "arci-x"),
        lambda api: api.create_container_from_config(CONFIG, "arci-x"),
        b'HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{"Id":"1"}',
    ),
    "start": (lambda http: container_calls.start(http, ID), lambda api: api.start(ID), OK),
    "inspect": (lambda http: container_calls.inspect(http, ID), lambda api: api.inspect_container(ID), OK),
    "kill": (lambda http: container_calls.kill(http, ID, "SIGTERM"), lambda api: api.kill(ID, "SIGTERM"), OK),
    "remove": (
        lambda http: container_calls.remove(http, ID),
        lambda api: api.remove_container(ID, v=True, force=True),
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ),
    "volume": (
        lambda http: container_calls.create_volume(http, VOLUME),
        lambda api: api.create_volume(**VOLUME),
        OK,
    ),
    "no volume": (
        lambda http: container_calls.remove_volume(http, "v"),
        lambda api: api.remove_volume("v", force=True),
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ),
    "attach": (
        lambda http: container_calls.attach(http, ID),
        lambda api: api.attach_socket(ID, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}),
        UPGRADED,
    ),
}


class Script:
    """Listens on a Unix socket; each connection plays the answers that are left, one a request."""

    def __init__(self, path: Path, answers: list[Answer], pause: threading.Event | None) -> None:
        self.path = str(path)
        self.heard: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.has_heard = threading.Event()
        self.hung_up = threading.Event()
        """The other side has closed a connection."""
        self._answers = answers
        self._pause = pause
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._play, args=(connection,), daemon=True).start()

    def _play(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file, suppress(OSError):
            while line := file.readline().decode().strip():
                fields = {}
                while field := file.readline().decode().strip():
                    name, _, value = field.partition(": ")
                    fields[name.lower()] = value
                body = file.read(int(fields.get("content-length", 0)))
                answer = self._answers.pop(0)
                self.heard.append((line, fields, body))
                self.has_heard.set()
                if self._pause is not None:
                    self._pause.wait(LIMIT_S)
                if answer is None:
                    return
                connection.sendall(answer if isinstance(answer, bytes) else answer[0])
                if isinstance(answer, tuple):
                    return
            self.hung_up.set()


@contextmanager
def script(directory: Path, *answers: Answer, pause: threading.Event | None = None) -> Iterator[Script]:
    server = Script(directory / "engine.sock", list(answers), pause)
    try:
        yield server
    finally:
        server.close()


def client(server: Script, headers: dict[str, str] | None = None) -> Http:
    return Http(Dialer(Endpoint(f"unix://{server.path}", "a test")), "1.41", headers or {})


def within(main: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        with anyio.fail_after(LIMIT_S):
            return await main()

    return anyio.run(bounded)


def asked(server: Script, *paths: str) -> list[Any]:
    """The answers to GETs one after the other, by one client."""

    async def main() -> list[Any]:
        http = client(server)
        try:
            return [await http.ask("GET", path) for path in paths]
        finally:
            http.close()

    found: list[Any] = within(main)
    return found


@pytest.mark.parametrize(("ours", "theirs", "answer"), CALLS.values(), ids=CALLS)
def test_a_request_says_what_the_librarys_says(ours: Any, theirs: Any, answer: bytes, tmp_path: Path) -> None:
    with script(tmp_path, answer, answer) as server:

        async def main() -> None:
            http = client(server)
            if (stream := await ours(http)) is not None and hasattr(stream, "close"):
                stream.close()
            http.close()

        within(main)
        api = docker.APIClient(base_url=f"unix://{server.path}", version="1.41")
        if (attached := theirs(api)) is not None and hasattr(attached, "_sock"):
            attached._sock.close()
            attached.close()
        api.close()
        mine, librarys = (_meaning(*request) for request in server.heard)
        assert mine == librarys


def _meaning(line: str, fields: dict[str, str], body: bytes) -> Any:
    """Without what can be said in two ways: true as `1` or `True`, false or left out, an empty body as `{}`."""
    method, target, version = line.split()
    query = {name: "1" if value[0] == "True" else value[0] for name, value in parse_qs(urlsplit(target).query).items()}
    query = {name: value for name, value in query.items() if value not in ("False", "0")}
    upgrade = {name: fields.get(name) for name in ("upgrade", "connection") if "upgrade" in fields}
    content = json.loads(body) if body.strip() not in (b"", b"{}", b"null") else None
    return method, urlsplit(target).path, version, query, upgrade, content


def test_a_connection_is_used_again(tmp_path: Path) -> None:
    with script(tmp_path, OK, OK, OK) as server:
        assert asked(server, "/a", "/b", "/c") == [{}, {}, {}]
        assert [line for line, _, _ in server.heard] == [f"GET /v1.41/{path} HTTP/1.1" for path in "abc"]
        assert server.connections == 1


def test_one_that_the_engine_closed_meanwhile_is_not(tmp_path: Path) -> None:
    """An engine that was started again has closed all."""
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with script(tmp_path, closing, OK, None, OK) as server:
        assert asked(server, "/a", "/b") == [{}, {}]
        assert server.connections == 2

        async def main() -> None:
            http = client(server)
            with pytest.raises(ConnectionError, match="closed before the answer was whole"):
                await http.ask("GET", "/c")
            assert await http.ask("GET", "/d") == {}
            http.close()

        within(main)


def test_one_that_ends_while_nobody_uses_it_is_not_used(tmp_path: Path) -> None:
    with script(tmp_path, OK, OK) as server:

        async def main() -> None:
            http = client(server)
            await http.ask("GET", "/a")
            http._idle[0][1]._socket.shutdown(socket.SHUT_RD)  # as if its end had come in
            await http.ask("GET", "/b")
            http.close()

        within(main)
        assert server.connections == 2


def test_one_that_was_idle_for_long_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A router on the way may have forgotten it, and tells nobody."""
    monkeypatch.setattr(http_module, "_IDLE_S", 0.0)
    with script(tmp_path, OK, OK) as server:
        asked(server, "/a", "/b")
        assert server.connections == 2


def test_an_answer_may_come_in_any_pieces_and_in_chunks(tmp_path: Path) -> None:
    whole = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n'
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "engine.sock"))
    listener.listen()

    def dribble() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            for byte in whole:
                connection.sendall(bytes([byte]))
            connection.recv(1)

    thread = threading.Thread(target=dribble)
    thread.start()

    async def main() -> Any:
        http = Http(Dialer(Endpoint(f"unix://{tmp_path}/engine.sock", "a test")), "1.41", {})
        answer = await http.ask("GET", "/a")
        http.close()
        return answer

    assert within(main) == {"a": 1}
    thread.join(LIMIT_S)
    listener.close()


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (b'HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n{"message":"gone"}', 404, "gone"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 9\r\n\r\nno engine", 502, "no engine"),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", 500, "no reason was given"),
        (b'HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\n"no"', 500, '"no"'),
    ],
)
def test_a_refusal_has_its_status_and_words(tmp_path: Path, answer: bytes, status: int, message: str) -> None:
    for path in ("ask", "upgrade"):
        directory = tmp_path / path
        directory.mkdir()
        with script(directory, answer) as server:

            async def main() -> None:
                http = client(server)  # called at once
                try:
                    await (container_calls.attach(http, ID) if path == "upgrade" else http.ask("GET", "/a"))  # noqa: B023
                finally:
                    http.close()

            with pytest.raises(Refused) as caught:
                within(main)
        error = engine_error("do it", caught.value)
        assert isinstance(error, EngineError)
        assert (error.status, str(error)) == (status, f"do it: {message}{'' if message.endswith('.') else '.'}")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{,}", "no JSON"),
        ((b"HTTP/1.1 200 OK\r\nContent-Len",), "before the answer was whole"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{",), "before the answer was whole"),
        (None, "before the answer was whole"),
    ],
)
def test_what_is_no_answer_is_a_broken_connection(tmp_path: Path, answer: Answer, reason: str) -> None:
    with script(tmp_path, answer) as server, pytest.raises(ConnectionError, match=reason) as caught:
        asked(server, "/a")
    assert "ask: the connection to the engine broke: " in str(engine_error("ask", caught.value))


def test_no_engine_is_a_broken_connection_too(tmp_path: Path) -> None:
    with script(tmp_path) as server:
        pass
    for gone in (False, True):
        if gone:
            Path(server.path).unlink()
        with pytest.raises(FOREIGN) as caught:
            asked(server, "/a")
        reason = r"\[Errno 2\] No such file" if gone else r"\[Errno 111\] Connection refused"
        told = str(engine_error("ask", caught.value))
        assert re.match(f"ask: the connection to the engine broke: {reason}", told)


@pytest.mark.parametrize(
    "head", [UPGRADED, b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"]
)
def test_an_attached_stream_begins_behind_the_answers_head(tmp_path: Path, head: bytes) -> None:
    """What a container says at once comes in the same piece. An old engine, or a proxy, may leave out the upgrade."""
    with script(tmp_path, head + b"\x01\0\0\0\0\0\0\2hi") as server:

        async def main() -> bytes:
            http = client(server)
            stream = await container_calls.attach(http, ID)
            said = b""
            while len(said) < 10:
                said += await stream.receive()
            stream.close()
            http.close()
            return said

        assert within(main) == b"\x01\0\0\0\0\0\0\2hi"
        assert server.hung_up.wait(LIMIT_S)


def test_a_request_that_is_given_up_takes_its_connection_along(tmp_path: Path) -> None:
    """What comes late must not be taken for the answer to the next."""
    go_on = threading.Event()
    with script(tmp_path, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate", OK, pause=go_on) as server:

        async def main() -> Any:
            http = client(server)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(http.ask, "GET", "/a")
                await anyio.to_thread.run_sync(server.has_heard.wait, LIMIT_S)
                tasks.cancel_scope.cancel()
            go_on.set()
            answer = await http.ask("GET", "/b")
            http.close()
            return answer

        assert within(main) == {}
        assert server.connections == 2


def test_a_queue_that_is_full_is_waited_for(tmp_path: Path) -> None:
    """The kernel refuses a connection to a Unix socket that others wait for, and tells nobody when there is room."""
    path = str(tmp_path / "engine.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        dialer = Dialer(Endpoint(f"unix://{path}", "a test"))

        async def main() -> None:
            held = []
            with anyio.move_on_after(0.2):
                while True:
                    held.append(await dialer.dial())
            assert held
            got = anyio.Event()

            async def one_more() -> None:
                held.append(await dialer.dial())
                got.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one_more)
                listener.accept()[0].close()
                await got.wait()
            for connection in held:
                connection.close()

        within(main)


def test_what_dockers_configuration_has_sent_along_is_sent(tmp_path: Path) -> None:
    with script(tmp_path, OK) as server:

        async def main() -> None:
            http = client(server, {"X-Who": "me", "User-Agent": "a"})
            await http.ask("GET", "/a")
            http.close()

        within(main)
        (_, fields, _) = server.heard[0]
        assert (fields["x-who"], fields["user-agent"], fields["host"]) == ("me", "a", "localhost")


@pytest.mark.parametrize(
    ("url", "tls", "host", "prefix"),
    [
        ("unix:///run/docker.sock", None, "localhost", ""),
        ("unix://run/docker.sock", None, "localhost", ""),
        ("tcp://127.0.0.1:2375", None, "127.0.0.1:2375", ""),
        ("tcp://[::1]:2375", None, "[::1]:2375", ""),
        ("http://127.0.0.1:2375/engine/", None, "127.0.0.1:2375", "/engine"),
        ("https://127.0.0.1:2376", None, "127.0.0.1:2376", ""),
        ("tcp://127.0.0.1:2376", TlsFiles(None, None, None, verify=False), "127.0.0.1:2376", ""),
    ],
)
def test_an_address_is_read_as_the_library_reads_it(url: str, tls: TlsFiles | None, host: str, prefix: str) -> None:
    dialer = Dialer(Endpoint(url, "a test", tls))
    assert (dialer.host, dialer.prefix) == (host, prefix)
