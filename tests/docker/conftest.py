"""Fixtures of tests on a real engine: one engine for the session, and nothing of ours left on it at the end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from belongings import await_nothing_left
from fake_engine import FakeEngine, fake_engine
from pods import Fake, on_fake

from arci.isolation.docker import engine as engine_module
from arci.isolation.docker.engine import Engine, connect


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "fake" not in item.path.name and "tests/docker" in item.path.as_posix():
            item.add_marker(pytest.mark.docker)


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    """A scripted engine, and an ARCI that uses it."""
    with on_fake(tmp_path) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """A scripted engine that `connect`, and so every command, finds."""
    monkeypatch.setattr(engine_module, "FORBIDDEN", None)
    with fake_engine(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{made.path}")
        yield made


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine that ARCI itself would use."""
    import anyio

    return anyio.run(connect)


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_ours_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever this session's processes make on the engine is labelled as theirs; what is left of it at the end is a
    failure of the whole session. Other runs on the same engine come and go as they like."""
    if not any(item.get_closest_marker("docker") for item in request.session.items):
        yield
        return
    engine: Engine = request.getfixturevalue("engine")
    owner = f"tests-{secrets.token_hex(8)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARCI_OWNER", owner)
        yield
    await_nothing_left(engine.api, owner)
