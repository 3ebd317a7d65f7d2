"""How tests reach another engine: by the variables that a user would set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import anyio
import pytest
from dockerds import VARIABLES, OtherEngine

from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.labels import RUN

__all__ = ["connected", "of_runs", "using"]


@contextmanager
def using(env: Mapping[str, str]) -> Iterator[None]:
    """What connects within, in this process or one that it starts, finds the engine that `env` names."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in env.items():
            patch.setenv(name, value)
        yield


def connected(env: Mapping[str, str]) -> Engine:
    with using(env):
        return anyio.run(connect)


def of_runs(other: OtherEngine) -> list[str]:
    """Names of what runs left on it."""
    engine, filters = connected(other.env), {"label": [RUN]}
    names = [container["Id"] for container in engine.api.containers(all=True, filters=filters)]
    names += [volume["Name"] for volume in engine.api.volumes(filters=filters)["Volumes"] or ()]
    engine.close()
    return names
