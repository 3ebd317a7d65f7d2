"""Other engines, each started when a test first asks for it, with ARCI's base image brought there as a user would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import anyio
import pytest
from certificates import Authority
from dockerds import OtherEngine, dockerd, mortal_dockerd
from e2e import arci
from machines import skip_unless_it_can_be_had
from podmans import podman
from reach import of_runs
from rootless import rootless

from arci.isolation.docker.base_image import base_tag
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.images_archive import save_images
from arci.isolation.docker.runtime import ensure_runtime


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/engines" in item.path.as_posix() and item.path.name != "test_pages.py":
            item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def usual() -> Engine:
    """The engine that is here anyway."""
    return anyio.run(connect)


@pytest.fixture(scope="session")
def base(usual: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ARCI's base image in a file: an engine without a registry gets it like this."""
    anyio.run(ensure_runtime, usual)
    file = tmp_path_factory.mktemp("images") / "base.tar"
    anyio.run(save_images, usual, [base_tag()], file)
    return file


@pytest.fixture(scope="session")
def started(usual: Engine, base: Path) -> Iterator[Callable[[str], OtherEngine]]:
    """`started("podman")`: that engine with the base image on it. It lives until the session ends, and is the same for
    every test that asks; nothing of a run may be left on it then."""
    storage = usual.api.info()["Driver"]
    ways: Mapping[str, Callable[[], AbstractContextManager[OtherEngine]]] = {
        "tcp": partial(dockerd, storage),
        "mortal": partial(mortal_dockerd, storage),
        "tls": lambda: dockerd(storage, authority=Authority()),
        "podman": podman,
        "rootless": partial(rootless, storage),
    }
    found: dict[str, OtherEngine] = {}
    with ExitStack() as stack:

        def start(name: str) -> OtherEngine:
            if name not in found:
                skip_unless_it_can_be_had()
                found[name] = stack.enter_context(ways[name]())
                loaded = arci("images", "load", base, env=found[name].variables)
                assert loaded.exit_code == 0, loaded.stderr
            return found[name]

        yield start
        left = {name: of_runs(other) for name, other in found.items()}
        assert not any(left.values()), f"left on other engines: {left}"
