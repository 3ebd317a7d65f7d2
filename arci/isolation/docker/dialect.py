"""What an engine that is not Docker's own takes otherwise in its create requests. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from arci.isolation.docker.spec import HOLDER_USER

__all__ = ["LIBPOD_HEADER", "podman_config", "podman_volume"]

LIBPOD_HEADER = "Libpod-API-Version"
"""Podman's answer to a ping carries it."""
_PAGE_BYTES = 4096
"""On a machine with larger pages a volume has more room by the same factor."""


def podman_config(config: Mapping[str, Any], processes: int | None) -> dict[str, Any]:
    """`config` as Podman takes it (tried with 4.3). `processes`: what it gives a container by itself; None: not known.

    It refuses a limit of files in a file system in memory: their number is then limited by the container's memory
    alone, in which the kernel counts them. Told one ulimit, it forgets its defaults of the others and asks for more
    processes than it may have itself, so both are told. It gives a volume to the user of the first container that
    mounts it: the slot's must stay root's, so that the boundary can listen there and its environment cannot.
    """
    host = config["HostConfig"]
    ulimits = list(host.get("Ulimits") or ())
    if ulimits and processes is not None:
        ulimits.append({"Name": "nproc", "Soft": processes, "Hard": processes})
    tmpfs = {path: re.sub(r",nr_inodes=\d+", "", options) for path, options in (host.get("Tmpfs") or {}).items()}
    user = {"User": "0:0"} if config.get("User") == HOLDER_USER and host["Mounts"] else {}
    return {**config, **user, "HostConfig": {**host, "Tmpfs": tmpfs, "Ulimits": ulimits}}


def podman_volume(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a volume in memory as Podman takes them: `size=` means a quota of its storage there, which few file
    systems have, so the same is said in the kernel's other word (tried with 4.3)."""
    options = dict(arguments["driver_opts"])
    options["o"] = re.sub(r"\bsize=(\d+)", lambda size: f"nr_blocks={int(size[1]) // _PAGE_BYTES}", options["o"])
    return {**arguments, "driver_opts": options}
