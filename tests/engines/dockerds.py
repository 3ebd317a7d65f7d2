"""Docker as a service of CI: an engine on loopback TCP, with or without TLS, whose file system is another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import create_server
from subprocess import TimeoutExpired, run

from certificates import Authority
from machines import Machine, directory_for, machine
from small_root import make_root

__all__ = ["VARIABLES", "OtherEngine", "answers", "dockerd", "mortal_dockerd"]

VARIABLES = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONTEXT", "DOCKER_CONFIG")
"""What says which engine is used."""

_PROGRAMS = ("dockerd", "containerd", "containerd-shim-runc-v2", "runc", "docker-init", "iptables", "mount", "xz", "ps")
_OPTIONS = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--log-level=warn")
_TLS = ("--tlsverify", "--tlscacert=/tls/ca.pem", "--tlscert=/tls/cert.pem", "--tlskey=/tls/key.pem")


@dataclass(frozen=True)
class OtherEngine:
    """`env`: what a user would set to use it."""

    machine: Machine
    env: Mapping[str, str]

    @property
    def variables(self) -> Mapping[str, str | None]:
        """`env`, and None for what must not be set beside it."""
        return {**dict.fromkeys(VARIABLES), **self.env}


@contextmanager
def mortal_dockerd(storage: str, *, room: str | None = None) -> Iterator[OtherEngine]:
    """One on a Unix socket of its own, where nobody listens once it is dead. `room`: how large its disk is (`100m`)."""
    with directory_for("mortal") as directory:
        make_root(directory / "root", _PROGRAMS)
        env = {"DOCKER_HOST": f"unix://{directory}/root/sock"}
        argv = ["dockerd", "--host=unix:///sock", f"--storage-driver={storage}", *_OPTIONS]
        own = {} if room is None else {"ARCI_TEST_ROOM": room}
        with machine(directory, argv, partial(answers, env), env=own) as found:
            yield OtherEngine(found, env)


@contextmanager
def dockerd(storage: str, *, authority: Authority | None = None) -> Iterator[OtherEngine]:
    """An empty engine. `authority`: for TLS, with certificates of client and server."""
    with directory_for("dockerd") as directory, create_server(("127.0.0.1", 0)) as listener:
        root = directory / "root"
        make_root(root, _PROGRAMS)
        # It gets this machine's loopback as a socket, since it lives in a network of its own: in ours, an engine
        # without a bridge would remove the bridge of the one that is here.
        env = {"DOCKER_HOST": f"tcp://127.0.0.1:{listener.getsockname()[1]}"}
        argv = ["dockerd", "--host=fd://", f"--storage-driver={storage}", *_OPTIONS]
        if authority is not None:
            authority.issue(root / "tls", server=True)
            authority.issue(directory / "client", server=False)
            env |= {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(directory / "client")}
            argv += _TLS
        with machine(directory, argv, partial(answers, env), listener=listener) as found:
            yield OtherEngine(found, env)


def answers(env: Mapping[str, str], path: str = "/usr/bin:/bin") -> bool:
    """Whether the `docker` command reaches an engine with these variables. One that takes too long has not answered."""
    known = {"PATH": path, "HOME": str(Path.home()), **env}
    try:
        return run(["docker", "version"], env=known, capture_output=True, check=False, timeout=30).returncode == 0
    except TimeoutExpired:
        return False
