"""Ways out of the pod, ways into the loopback of others, and names of others to speak under."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import struct
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SECONDS = 1.0
GATEWAYS = ("172.17.0.1", "172.18.0.1", "10.0.2.2", "10.88.0.1", "192.168.65.2", "host.docker.internal")


def _dial(host: str, port: int) -> None:
    socket.create_connection((host, port), SECONDS).close()


def _send(family: int, address: tuple[Any, ...]) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", address)


def _tcp(*addresses: tuple[str, int]) -> list[Any]:
    return [(f"{host}:{port}", partial(_dial, host, port)) for host, port in addresses]


def reach_ip(given: dict[str, Any], tools: Any) -> list[Any]:
    udp = [("udp", partial(_send, socket.AF_INET, ("1.1.1.1", 53)))]
    return _tcp(("1.1.1.1", 53), ("8.8.8.8", 443), ("192.0.2.1", 80)) + udp


def reach_ipv6(given: dict[str, Any], tools: Any) -> list[Any]:
    udp = [("udp", partial(_send, socket.AF_INET6, ("2606:4700:4700::1111", 53, 0, 0)))]
    return _tcp(("2606:4700:4700::1111", 53), ("fe80::1", 80), ("ff02::1", 80)) + udp


def resolve_names(given: dict[str, Any], tools: Any) -> list[Any]:
    query = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\x07example\x03com\0\0\1\0\1"

    def ask(server: str) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(SECONDS)
            asking.connect((server, 53))
            asking.send(query)
            asking.recv(512)

    names = ("example.com", f"{secrets.token_hex(8)}.example.com", "host.docker.internal")
    found = [(name, partial(socket.getaddrinfo, name, 80)) for name in names]
    return found + [(f"dns {server}", partial(ask, server)) for server in ("127.0.0.11", "127.0.0.53", "8.8.8.8")]


def reach_metadata(given: dict[str, Any], tools: Any) -> list[Any]:
    return _tcp(("169.254.169.254", 80), ("169.254.170.2", 80), ("fd00:ec2::254", 80), ("100.100.100.200", 80))


def reach_gateway(given: dict[str, Any], tools: Any) -> list[Any]:
    return _tcp(*((host, port) for host in GATEWAYS for port in (22, 80, 443, 2375, 2376)))


def scan_loopback(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Every port of 127.0.0.1 up to 20000, and what is known to listen. One answers: the way to the tools."""
    answering = []
    for port in (*range(1, 20000), 27017, given["port"]):
        with socket.socket() as dialling:
            if dialling.connect_ex(("127.0.0.1", port)) == 0:
                answering.append(port)
    strangers = [port for port in answering if port != given["port"]]
    return {"answering": len(answering), "reached": strangers}


def dial_environment(given: dict[str, Any], tools: Any) -> list[Any]:
    """The port that the environment serves on its own loopback; it says which."""
    port = tools.call("port")
    return _tcp(("127.0.0.1", port), ("::1", port))


def engine_socket(given: dict[str, Any], tools: Any) -> list[Any]:
    places = (
        *("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"),
        *("/run/crio/crio.sock", "/run/user/1000/docker.sock", "/.docker/run/docker.sock"),
    )
    return [(place, partial(os.stat, place)) for place in places]


def foreign_sockets(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Unix sockets, by name in the file system or in the namespace, that are not this agent's own."""
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    reached = [line.split()[-1] for line in lines if "@" in line]
    for name in ("/containerd-shim", "dbus", "/tmp/.X11-unix/X0", "/org/systemd", "arci"):
        with socket.socket(socket.AF_UNIX) as dialling, suppress(OSError):
            dialling.connect("\0" + name)
            reached.append(f"@{name}")
    for directory, _, names in os.walk("/", onerror=lambda error: None):
        if directory.startswith(("/proc", "/sys")):
            continue
        reached += [path for name in names if Path(path := os.path.join(directory, name)).is_socket()]
    return {"reached": reached}


def sniff(given: dict[str, Any], tools: Any) -> list[Any]:
    return [
        ("packets", partial(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))),
        ("datagrams", partial(socket.socket, socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))),
        ("raw tcp", partial(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)),
        ("raw icmp", partial(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)),
    ]


def add_route(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """A default route over loopback, asked of the kernel: it answers with the error."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        attribute = struct.pack("=HHI", 8, 4, 1)  # RTA_OIF: lo
        route = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 4, 253, 1, 0) + attribute
        kernel.send(struct.pack("=IHHII", 16 + len(route), 24, 0x0405, 1, 0) + route)
        error = struct.unpack("=i", kernel.recv(4096)[16:20])[0]
    return {"reached": [] if error < 0 else ["route"]}


def bind_first(given: dict[str, Any], tools: Any) -> list[Any]:
    """The port of the tools, taken from whoever holds it."""

    def bind(family: int, host: str, option: int) -> None:
        with socket.socket(family) as server:
            server.setsockopt(socket.SOL_SOCKET, option, 1)
            server.bind((host, given["port"]))
            server.listen()

    options = {"reuseaddr": socket.SO_REUSEADDR, "reuseport": socket.SO_REUSEPORT}
    hosts = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))
    return [(f"{host} {word}", partial(bind, f, host, o)) for f, host in hosts for word, o in options.items()]


def squat_ports(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """A daemon that keeps hundreds of ports, for whoever runs in this slot next."""
    held = []
    for _ in range(500):
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen()
        held.append(server)
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(3600)
    return {"held": len(held)}


def wear_out_ports(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Thousands of connections that this side closes first, so that their ports rest in TIME_WAIT."""
    made = 0
    for _ in range(3000):
        with suppress(OSError):
            _dial("127.0.0.1", given["port"])
            made += 1
    return {"made": made}


def _answer_to(given: dict[str, Any], line: bytes) -> None:
    """Passes if the boundary answers at all, and raises if it closes."""
    with socket.create_connection(("127.0.0.1", given["port"]), 5) as link:
        link.sendall(line)
        if not link.recv(1):
            raise ConnectionError("closed")


def other_token(given: dict[str, Any], tools: Any) -> list[Any]:
    """Greetings of another trial's agent, as far as they can be guessed; and its own, which is answered."""
    own = given["token"]
    tokens = {
        "random": secrets.token_hex(16),
        "zero": "0" * 32,
        "one digit off": own[:-1] + ("0" if own[-1] != "0" else "1"),
        "prefix": own[:16],
        "longer": own + "0",
        "capitals": own.upper() + "A",
        "none": "",
    }
    kinds = ("mcp", "worker", "environment")
    asked = b'\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    lines = [(f"{kind} {word}", f"ARCI {kind} {token}".encode()) for kind in kinds for word, token in tokens.items()]
    http = b"POST /%s/mcp/tools HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
    found = [(name, partial(_answer_to, given, line + asked)) for name, line in lines]

    def over_http() -> None:
        with socket.create_connection(("127.0.0.1", given["port"]), 5) as link:
            link.sendall(http % secrets.token_hex(16).encode())
            if b" 200 " in link.recv(4096):
                return
        raise ConnectionError("refused")

    control = ("own token", partial(_answer_to, given, f"ARCI mcp {own}".encode() + asked))
    return [*found, ("http", over_http), control]


def forge_status(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """The report of PID 1 that this agent ended well, in every place where it might be heard. Then it ends with 3."""
    said = b"started\nended exit 0 oom=0\n"
    for kind in ("status", "environment"):
        with suppress(OSError):
            _answer_to(given, f"ARCI {kind} {given['token']}\n".encode() + said)
    for stream in (1, 2):
        os.write(stream, b'\nended exit 0 oom=0\n{"type":"status","status":"ended","code":0,"oom_kills":0}\n')
    os._exit(3)
