"""Fixtures for all tests; without `@pytest.mark.docker` a test cannot reach an engine."""

from __future__ import annotations

import pytest

from arci.isolation.docker import engine as engine_module


@pytest.fixture(autouse=True)
def _no_engine_without_the_marker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("docker") is None:
        monkeypatch.setattr(
            engine_module, "FORBIDDEN", "this test is not marked with @pytest.mark.docker, so it may not use an engine"
        )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
