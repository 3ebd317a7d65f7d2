"""An MCP client of raw frames, standard library only, that does its task in the odd way that the task names.

odd_agent.py TASK_FILE HOW. HOW is `honest` (the task is done plainly) or `odd`. What is not as it should be ends it
with an AssertionError. The task is to call `do` once.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

MIB = 1 << 20
COMMAND = os.environ["ARCI_MCP_COMMAND"].split(" ")
ADDRESS, HELLO = COMMAND[2], " ".join(["ARCI mcp", *COMMAND[3:]]).encode() + b"\n"


def frame(id: Any, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


def call(id: Any, tool: str) -> bytes:
    return frame(id, "tools/call", name=tool, arguments={})


class Session:
    """Frames over two files."""

    def __init__(self, out: Any, back: Any) -> None:
        self.out, self.back = out, back

    def say(self, data: bytes) -> None:
        self.out.write(data)
        self.out.flush()

    def hear(self) -> Any:
        line = self.back.readline()
        assert line, "the connection was ended"
        return json.loads(line)

    def call(self, tool: str, id: Any = 1) -> Any:
        self.say(call(id, tool))
        answer = self.hear()
        assert answer["id"] == id, answer
        return answer["result"]["structuredContent"]["result"]

    def refused(self, line: bytes, *codes: int) -> None:
        """It is answered with one of these errors, and not with silence."""
        self.say(line)
        answer = self.hear()
        assert answer["error"]["code"] in codes, answer

    def begin(self, tool: str) -> None:
        """A call that has reached the recorder and is not answered yet: what came after it is answered."""
        self.say(call("open", tool) + frame("after", "ping"))
        assert self.hear()["id"] == "after"


class Shim(Session):
    """A session through the shim, as MCP clients hold it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        super().__init__(self.process.stdin, self.process.stdout)


class Direct(Session):
    """A session without the shim."""

    def __init__(self) -> None:
        self.socket = dial()
        super().__init__(self.socket.makefile("wb"), self.socket.makefile("rb"))
        self.say(HELLO)


def dial() -> socket.socket:
    scheme, _, where = ADDRESS.partition(":")
    if scheme == "unix":
        found = socket.socket(socket.AF_UNIX)
        found.connect(where)
        return found
    host, _, port = where.rpartition(":")
    return socket.create_connection((host, int(port)))


def honest() -> None:
    assert Shim().call("do") == 1


def never_connects() -> None:
    pass


def leaves_with_3() -> None:
    sys.exit(3)


def kills_its_shim() -> None:
    shim = Shim()
    shim.call("do")
    shim.process.kill()
    assert shim.process.wait() == -signal.SIGKILL


def kills_its_shim_in_a_call() -> None:
    shim = Shim()
    shim.begin("do_slowly")
    shim.process.kill()
    shim.process.wait()
    Shim().call("ping")


def freezes_its_shim() -> None:
    shim = Shim()
    shim.call("do")
    shim.process.send_signal(signal.SIGSTOP)


def leaves_in_a_call() -> None:
    Shim().begin("do_slowly")


def opens_500_connections() -> None:
    crowd = [Direct() for _ in range(500)]
    for session in (crowd[0], crowd[250], crowd[499]):
        session.call("ping")
    crowd[1].call("do")


def reconnects_for_each_call() -> None:
    for number in range(20):
        shim = Shim()
        shim.call("do" if number == 10 else "ping", id=str(number))
        shim.out.close()
        assert shim.process.wait() == 0


def sends_a_batch() -> None:
    shim = Shim()
    shim.refused(b"[" + call(1, "do").strip() + b"," + call(2, "do").strip() + b"]\n", -32600)
    shim.refused(b"[]\n", -32600)
    shim.call("do")


def sends_garbage() -> None:
    shim = Shim()
    shim.refused(bytes(byte for byte in range(256) if byte != 10) + b"\n", -32700, -32600)
    shim.refused(b'{"jsonrpc":"2.0","id":1,\n', -32700)
    shim.refused(b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600)
    shim.refused(b'"do"\n', -32600)
    shim.call("do")


def uses_an_id_twice() -> None:
    shim = Shim()
    shim.begin("do_slowly")
    shim.refused(call("open", "do"), -32600)
    assert shim.hear()["result"]["structuredContent"]["result"] == 1


def nests_200_levels() -> None:
    shim = Shim()
    deep = b'{"a":' * 200 + b"1" + b"}" * 200
    params = b'{"name":"do","arguments":' + deep + b"}"
    shim.refused(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}\n", -32600)
    shim.call("do")


def ends_within_a_frame() -> None:
    shim = Shim()
    shim.call("do")
    shim.say(call(2, "do")[:30])


def sends_half_a_frame_alone() -> None:
    shim = Shim()
    shim.say(call(1, "do").rstrip(b"}\n"))
    shim.out.close()
    assert shim.process.wait() == 0


def flood(piece: bytes) -> None:
    """Until the recorder ends the connection."""
    session = Direct()
    try:
        while True:
            session.socket.sendall(piece)
    except OSError:
        return


def writes_an_endless_line() -> None:
    flood(b"x" * MIB)
    Shim().call("do")


def floods_for_ever() -> None:
    Shim().call("do")
    while True:
        flood(b"[" * MIB)


def closes_its_stdin_at_once() -> None:
    done = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b""
    Shim().call("do")


def leaves_a_daemon_that_calls() -> None:
    working, tell = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _call_for_ever(tell)
        os._exit(0)
    os.read(working, 1)
    Shim().call("do")


def _call_for_ever(tell: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            Direct().call("ping")
            os.write(tell, b"x")
        except (AssertionError, OSError):
            continue


def never_reads() -> None:
    session = Direct()
    session.call("do")
    session.socket.setblocking(False)
    try:
        while True:
            session.socket.send(frame("p" * 4000, "ping"))
    except BlockingIOError:
        Shim().call("ping")


def opens_50_slow_requests() -> None:
    place, _, path = os.environ["ARCI_MCP_URL"].partition("://")[2].partition("/")
    host, _, port = place.rpartition(":")
    crowd = [socket.create_connection((host, int(port))) for _ in range(50)]
    for client in crowd:
        client.sendall(f"POST /{path} HTTP/1.1\r\nX-Slow: ".encode())
    shim = Shim()
    for _ in range(10):
        for client in crowd:
            client.sendall(b"x")
        shim.call("ping")
    shim.call("do")


def never_ends() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    shims = [Shim() for _ in range(5)]
    shims[0].call("do")
    while True:
        time.sleep(3600)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123  (pathlib is not cheap)
        way = json.load(file)["way"]
    globals()[way.replace("-", "_") if sys.argv[2] == "odd" else "honest"]()
    sys.stdout.flush()
    os._exit(0)  # as it is: nothing that is still open is closed or waited for


main()
