"""Python programs that guests of checks run to find out what they can reach. Pure; the fake runs none of them."""

from __future__ import annotations

from arci.isolation.script import Operation, Python

__all__ = [
    "DIAL_LOOPBACK",
    "INTERFACES",
    "REACH_OUT",
    "SECRETS_OF_THE_HOST",
    "SERVE_LOOPBACK",
    "WRITE_ROOT",
    "source",
]

INTERFACES = """
import socket
put(" ".join(sorted(name for _, name in socket.if_nameindex())))
"""

REACH_OUT = """
import socket
def attempt(what, action):
    try:
        action()
        put(what + " ")
    except OSError:
        pass
attempt("resolved", lambda: socket.getaddrinfo("example.com", 80))
attempt("connected", lambda: socket.create_connection(("1.1.1.1", 53), 2))
attempt("sent", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53)))
put("done")
"""

SERVE_LOOPBACK = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
put("port %d\\n" % listener.getsockname()[1])
globals()["kept"] = listener
"""

DIAL_LOOPBACK = """
import socket
try:
    socket.create_connection(("127.0.0.1", PORT), 5)
    put("connected")
except OSError as error:
    put("refused")
"""

SECRETS_OF_THE_HOST = """
import os
for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"):
    if os.path.exists(path):
        put(path + " ")
for line in open("/proc/self/status"):
    if line.startswith(("CapEff", "CapPrm", "CapBnd")) and int(line.split()[1], 16):
        put(line.replace("\\t", " "))
    if line.startswith("NoNewPrivs") and line.split()[1] != "1":
        put(line.replace("\\t", " "))
put("done")
"""

WRITE_ROOT = """
for path in ("/arci-conformance", "/etc/arci-conformance", "/usr/arci-conformance"):
    try:
        open(path, "w").close()
        put(path + " ")
    except OSError:
        pass
put("done")
"""


def source(text: str, **values: object) -> tuple[Operation, ...]:
    """The program with its capitalised names set."""
    settings = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    return (Python(settings + text),)
