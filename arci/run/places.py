"""Where things lie in a pod, and command lines with their placeholders filled in. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from arci.isolation.base import Pod
from arci.model.manifest import Server
from arci.model.trial import Role

__all__ = ["filled", "http_url", "server_argv", "server_task_file", "server_workdir", "upstream_url"]

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def filled(argv: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """`argv` with each `{name}` of `values` in its place; other braces stay, what is filled in is not read again."""
    return tuple(_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in argv)


def server_workdir(pod: Pod, name: str) -> str:
    """The server's own directory, the one its container or process starts with as HOME."""
    return f"{pod.workdir(Role.ENVIRONMENT)}/{name}"


def server_task_file(pod: Pod, name: str) -> str:
    """Beside the directory, so that no snapshot finds it there."""
    return f"{server_workdir(pod, name)}.task.json"


def server_argv(pod: Pod, server: Server, seed: int) -> tuple[str, ...]:
    """`{workdir}`, `{task_file}`, `{seed}`, and `{source}`: where the project's code lies, or its own image's."""
    values = {
        "workdir": server_workdir(pod, server.name),
        "task_file": server_task_file(pod, server.name),
        "seed": str(seed),
        "source": "." if server.has_image else pod.source(Role.BOUNDARY),
    }
    return filled(server.argv, values)


def http_url(address: str, token: str, server: str) -> str:
    """Where an agent speaks Streamable HTTP to a server. `address`: `tcp:HOST:PORT`."""
    return f"http://{address.removeprefix('tcp:')}/{token}/mcp/{server}"


def upstream_url(address: str, name: str) -> str:
    """The base URL under which an agent calls an upstream, with its token in place of a key."""
    return f"http://{address.removeprefix('tcp:')}/up/{name}"
