"""Podman's Docker-compatible socket, with storage, runtime directories and a network of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dockerds import OtherEngine, answers
from machines import directory_for, machine

__all__ = ["podman"]

_CONTAINERS = """\
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
netns = "host"

[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""
"""Debian's default runtime may not be there; without ulimits Podman asks for more open files than a container may
have. A build's step has the machine's network, which is none: for one of its own Podman needs plug-ins."""
_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{directory}/storage"
runroot = "{directory}/run"
"""


@contextmanager
def podman() -> Iterator[OtherEngine]:
    """An empty one, run by root."""
    with directory_for("podman") as directory:
        (directory / "containers.conf").write_text(_CONTAINERS)
        (directory / "storage.conf").write_text(_STORAGE.format(directory=directory))
        env = {"DOCKER_HOST": f"unix://{directory}/sock"}
        argv = ["podman", "--log-level=warn", "system", "service", "--time=0", env["DOCKER_HOST"]]
        own = {
            "CONTAINERS_CONF": str(directory / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(directory / "storage.conf"),
            "TMPDIR": str(directory),
        }
        with machine(directory, argv, partial(answers, env), env=own) as found:
            yield OtherEngine(found, env)
