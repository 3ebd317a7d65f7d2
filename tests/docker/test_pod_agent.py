"""What an agent can see and reach from inside its container, and how it reaches its boundary."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest
from pods import ended, heard, plan, python, runtime_image, trial, within

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.spec import AGENT_PORT
from arci.model.trial import Role

BOUNDARY = """
import os, socket, sys, threading
at = sys.argv[1].partition(":")[2]
relayed = socket.socket(socket.AF_UNIX)
relayed.bind(at)
os.chmod(at, 0o777)
relayed.listen()
debug = socket.create_server(("127.0.0.1", 0))
print("port", debug.getsockname()[1], flush=True)
def serve():
    while True:
        connection, _ = relayed.accept()
        connection.sendall(b"boundary heard " + connection.recv(100))
        connection.close()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
"""
AGENT = """
import json, os, pathlib, socket, sys
host, _, port = os.environ["DIAL"].partition(":")[2].partition(":")
def attempt(action):
    try:
        return ["ok", action()]
    except OSError as error:
        return [type(error).__name__, error.errno]
def relayed():
    with socket.create_connection((host, int(port)), 50) as connection:
        connection.sendall(b"hello")
        return connection.makefile().read()
def bind():
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
def dial(address):
    return lambda: socket.create_connection(address, 5).close()
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
mounts = [line.split()[4] for line in open("/proc/self/mountinfo")]
engines = ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"]
roots = ["/", "/etc", "/usr", "/root", "/opt/arci", "/var", "/run"]
print(json.dumps({
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "routes": open("/proc/net/route").read().splitlines()[1:],
    "resolve": attempt(lambda: socket.getaddrinfo("example.com", 80)),
    "out4": attempt(dial(("1.1.1.1", 53))),
    "out6": attempt(dial(("2606:4700:4700::1111", 53))),
    "gateway": attempt(dial(("172.17.0.1", 22))),
    "debug port": attempt(dial(("127.0.0.1", int(os.environ["DEBUG_PORT"])))),
    "relayed": attempt(relayed),
    "bind": attempt(bind),
    "caps": [status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no new privileges": status["NoNewPrivs"].strip(),
    "seccomp": status["Seccomp"].strip(),
    "wrote": [root for root in roots if attempt(lambda: pathlib.Path(root, "mine").touch())[0] == "ok"],
    "sockets": [path for path in engines if os.path.exists(path)],
    "mounts": mounts,
    "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "init memory": attempt(lambda: open("/proc/1/mem", "rb").close()),
    "environment": sorted(os.environ),
}))
"""


@pytest.fixture(scope="module")
def seen(engine: Engine) -> dict[str, Any]:
    """One agent's report of everything that it tried."""
    run = plan(runtime_image(engine))

    async def main() -> dict[str, Any]:
        async with DockerIsolation(engine).open(run) as slots, slots.pod(trial()) as pod:
            process = python(BOUNDARY)
            boundary = await pod.start(Role.BOUNDARY, type(process)((*process.argv, pod.listen)))
            port = (await heard(boundary, b"\n")).split()[1].decode()
            env = {"DIAL": pod.dial, "DEBUG_PORT": port}
            said = await ended(await pod.start(Role.AGENT, python(AGENT, env=env)))
            assert said.exit.code == 0, said.stderr.decode()
            report: dict[str, Any] = json.loads(said.stdout)
            return report

    return within(main)


def test_the_only_interface_is_the_loopback(seen: dict[str, Any]) -> None:
    assert seen["interfaces"] == ["lo"]
    assert seen["routes"] == []


@pytest.mark.parametrize("way", ["resolve", "out4", "out6", "gateway"])
def test_there_is_no_way_out(seen: dict[str, Any], way: str) -> None:
    """N51, N52: no name resolves, no address has a route, whatever the agent makes of proxy variables."""
    assert seen[way][0] != "ok"
    assert seen[way][1] in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, -2, -3), seen[way]


def test_a_port_that_the_environment_opened_cannot_be_dialled_past_the_recorder(seen: dict[str, Any]) -> None:
    assert seen["debug port"] == ["ConnectionRefusedError", errno.ECONNREFUSED]


def test_the_boundary_is_reached_through_the_relay(seen: dict[str, Any]) -> None:
    assert seen["relayed"] == ["ok", "boundary heard hello"]


def test_the_relays_port_cannot_be_taken_by_an_agent(seen: dict[str, Any]) -> None:
    """It could not hold it for the slot's next trial either: the holder is there first."""
    assert AGENT_PORT == 47112
    assert seen["bind"] == ["OSError", errno.EADDRINUSE]


def test_it_has_no_capability_and_can_get_no_privilege(seen: dict[str, Any]) -> None:
    assert set(seen["caps"]) == {"0000000000000000"}
    assert seen["no new privileges"] == "1"


def test_system_calls_are_filtered(seen: dict[str, Any]) -> None:
    assert seen["seccomp"] == "2"


def test_its_root_is_not_writable(seen: dict[str, Any]) -> None:
    assert seen["wrote"] == []


def test_there_is_no_engines_socket(seen: dict[str, Any]) -> None:
    assert seen["sockets"] == []


def test_the_slots_volume_and_the_hosts_paths_are_not_there(seen: dict[str, Any]) -> None:
    """The socket of the boundary is reached through the relay alone."""
    mounted = {m for m in seen["mounts"] if not m.startswith(("/proc", "/sys", "/dev"))}
    assert mounted == {"/", "/tmp", "/work", "/opt/arci", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}


def test_it_sees_its_own_processes_alone_and_cannot_look_into_init(seen: dict[str, Any]) -> None:
    """`arci-init` holds the token of the status connection in its memory."""
    assert len(seen["processes"]) == 2
    assert seen["init memory"] == ["PermissionError", errno.EACCES]


def test_its_environment_is_the_images_and_what_it_was_given(seen: dict[str, Any]) -> None:
    """N50's other side: nothing of the host's leaks in."""
    assert set(seen["environment"]) - {"LC_CTYPE"} == {"PATH", "HOSTNAME", "HOME", "TMPDIR", "DIAL", "DEBUG_PORT"}
