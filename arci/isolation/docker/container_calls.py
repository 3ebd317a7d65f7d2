"""The requests that an engine gets for every container of a trial. The rest go through the library's client.

Paths and fields are those of the Docker Engine API, 1.24 and newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arci.isolation.docker.connection import Connection
from arci.isolation.docker.http import Http

__all__ = ["attach", "create", "create_volume", "inspect", "kill", "remove", "remove_volume", "start"]


async def create(http: Http, config: Mapping[str, Any], name: str) -> str:
    """A new container's id."""
    answer = await http.ask("POST", "/containers/create", config, name=name)
    return str(answer["Id"])


async def attach(http: Http, container_id: str) -> Connection:
    """What it reads and writes from its start on."""
    return await http.upgrade(f"/containers/{container_id}/attach", stdin=1, stdout=1, stderr=1, stream=1)


async def start(http: Http, container_id: str) -> None:
    await http.ask("POST", f"/containers/{container_id}/start")


async def inspect(http: Http, container_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = await http.ask("GET", f"/containers/{container_id}/json")
    return answer


async def kill(http: Http, container_id: str, signal: str) -> None:
    await http.ask("POST", f"/containers/{container_id}/kill", signal=signal)


async def remove(http: Http, key: str) -> None:
    """The container with this id or name, running or not, with its anonymous volumes."""
    await http.ask("DELETE", f"/containers/{key}", v=1, force=1)


async def create_volume(http: Http, arguments: Mapping[str, Any]) -> None:
    """`arguments` as the library's `create_volume` takes them."""
    fields = {"name": "Name", "driver": "Driver", "driver_opts": "DriverOpts", "labels": "Labels"}
    await http.ask("POST", "/volumes/create", {fields[name]: value for name, value in arguments.items()})


async def remove_volume(http: Http, name: str) -> None:
    await http.ask("DELETE", f"/volumes/{name}")
