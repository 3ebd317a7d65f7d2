"""Fixtures for all tests; without `@pytest.mark.docker` a test cannot reach an engine."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from arci.isolation.docker import engine as engine_module

# What is found must not depend on how busy the machine is. All else stays as it is here, or in CI.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _no_engine_without_the_marker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("docker") is None:
        monkeypatch.setattr(
            engine_module, "FORBIDDEN", "this test is not marked with @pytest.mark.docker, so it may not use an engine"
        )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
