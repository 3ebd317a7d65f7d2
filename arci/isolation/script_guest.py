# ruff: noqa: PTH101, PTH103, PTH110, PTH120, PTH118, PTH123, PTH208, PTH211
"""The guest's half of `script`: runs a script given as JSON in argv. Standard library alone, Python 3.9.

Never imported: its text is handed to `python -I -S -c`, so it needs no file in the image that it runs in. It does
without pathlib, for a fast start.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    Steps = list[tuple[str, dict[str, Any]]]


def put(data: str | bytes, stream: str = "stdout") -> None:
    fd = 2 if stream == "stderr" else 1
    data = data if isinstance(data, bytes) else data.encode("latin-1")
    while data:
        data = data[os.write(fd, data) :]


def do_print(data: str, stream: str, times: int) -> None:
    put(data * times, stream)


def do_pattern(size: int, stream: str) -> None:
    whole = b"".join(i.to_bytes(8, "big") for i in range((size + 7) // 8))
    put(whole[:size], stream)


def do_echo() -> None:
    while True:
        data = os.read(0, 65536)
        if not data:
            return
        put(data)


def do_sleep(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(max(0, end - time.monotonic()))


def do_exit(code: int) -> None:
    os._exit(code)


def do_die(number: int) -> None:
    import signal

    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(60)


def do_on_term(script: Steps) -> None:
    import signal

    signal.signal(signal.SIGTERM, lambda *_: run(script))


def place(path: str) -> str:
    return os.path.join(os.environ.get("ARCI_WORKDIR", ""), os.path.expandvars(path))


def do_write(path: str, data: str, times: int) -> None:
    path = place(path)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data.encode("latin-1") * times)


def do_read(path: str) -> None:
    try:
        with open(place(path), "rb") as file:
            put(file.read())
    except OSError as error:
        put("missing" if error.errno == 2 else f"error {error.errno}")


def do_wait_for(path: str) -> None:
    while not os.path.exists(place(path)):
        time.sleep(0.005)


def do_link(path: str, target: str) -> None:
    os.symlink(target, place(path))


def do_list(path: str) -> None:
    put("\n".join(sorted(os.listdir(place(path)))))


def do_environment() -> None:
    import json

    put(json.dumps(dict(os.environ)))


def do_spawn(script: Steps, detached: bool, quiet: bool) -> None:
    if os.fork():
        if detached:
            os.wait()
        return
    if detached:
        os.setsid()
        if os.fork():
            os._exit(0)
    if quiet:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
    run(script)
    os._exit(0)


def do_orphans(count: int) -> None:
    for _ in range(count):
        child = os.fork()
        if not child:
            if not os.fork():
                os._exit(0)
            os._exit(0)
        os.waitpid(child, 0)
    put(b"made %d" % count)


def connect(address: str) -> socket.socket:
    import socket

    kind, _, place = address.partition(":")
    if kind == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(place)
        return connection
    host, _, port = place.rpartition(":")
    return socket.create_connection((host, int(port)))


KEPT: list[socket.socket] = []


def do_hold(address: str, name: str) -> None:
    connection = connect(address)
    connection.sendall(name.encode() + b"\n")
    answer = connection.makefile("rb").readline()
    KEPT.append(connection)
    put(b"held " + answer)


def do_listen(address: str, half_closes: bool) -> None:
    import select
    import socket

    path = address.partition(":")[2]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen(16)
    put(b"listening\n")
    heard: dict[socket.socket, list[bytes]] = {}
    while True:
        watched: list[Any] = [0, listener, *heard]
        for ready in select.select(watched, [], [])[0]:
            if ready == 0:
                if not os.read(0, 4096):
                    return
            elif ready is listener:
                heard[listener.accept()[0]] = [b""]
            else:
                serve(ready, heard, half_closes)


def serve(connection: socket.socket, heard: dict[socket.socket, list[bytes]], half_closes: bool) -> None:
    """`heard`: of each connection its first line, once it is whole, and what came after the last whole line."""
    try:
        data = connection.recv(4096)
    except OSError:
        data = b""
    *names, rest = heard[connection]
    *lines, rest = (rest + data).split(b"\n")
    if not data and names and rest:
        lines, rest = [rest], b""
    if lines and not names:
        names = [lines.pop(0)]
        put(b"open " + names[0] + b"\n")
        answer(connection, names[0], half_closes)
    for line in lines:
        put(b"heard " + line + b"\n")
    heard[connection] = [*names, rest]
    if not data:
        del heard[connection]
        put(b"closed " + b"".join(names) + b"\n")
        connection.close()


def answer(connection: socket.socket, name: bytes, half_closes: bool) -> None:
    import contextlib

    with contextlib.suppress(OSError):  # gone already: the next read tells
        connection.sendall(name + b"\n")
        if half_closes:
            connection.shutdown(1)


def do_python(source: str) -> None:
    exec(source, {"put": put})


def run(script: Steps) -> None:
    for name, values in script:
        globals()["do_" + name](**values)


def main() -> None:
    import json

    run(json.loads(sys.argv[1]))
    os._exit(0)


if __name__ == "__main__":
    main()
