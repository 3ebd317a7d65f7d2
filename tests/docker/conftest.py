"""Fixtures of tests on a real engine: one engine for the session, and nothing of ours left on it at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.labels import RUN


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "fake" not in item.path.name and "tests/docker" in item.path.as_posix():
            item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine that ARCI itself would use."""
    import anyio

    return anyio.run(connect)


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_ours_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Containers and volumes of runs are counted before and after; one more is a failure of the whole session."""
    if not any(item.get_closest_marker("docker") for item in request.session.items):
        yield
        return
    engine: Engine = request.getfixturevalue("engine")

    def ours() -> set[str]:
        filters = {"label": [RUN]}
        containers = {c["Id"] for c in engine.api.containers(all=True, filters=filters)}
        return containers | {v["Name"] for v in engine.api.volumes(filters=filters)["Volumes"] or ()}

    before = ours()
    yield
    for _ in range(60):  # another run on the same engine may be about to end; ours have ended
        left = ours() - before
        if not left:
            break
        time.sleep(0.5)
    assert not left, f"left on the engine: {sorted(left)}; remove with: arci clean"
