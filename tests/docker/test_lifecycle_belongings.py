"""The check that nothing of a test session is left on the engine: it sees what is left, and nothing of anybody else."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from belongings import await_nothing_left, belongings
from pods import runtime_image

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import HOLDER, labels


@pytest.fixture
def plant(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """`plant(kind, owner)`: a container or a volume of a run of `owner`; its id or name."""
    image = runtime_image(engine)
    with ExitStack() as stack:

        def planted(kind: str, owner: str) -> str:
            with monkeypatch.context() as patch:
                patch.setenv("ARCI_OWNER", owner)
                found = labels(str(uuid.uuid4()), "planted", HOLDER)  # young: no sweep of others takes it away
            if kind == "volume":
                name = f"arci-planted-{secrets.token_hex(8)}"
                engine.api.create_volume(name, labels=found)
                stack.callback(engine.api.remove_volume, name, force=True)
                return name
            made: str = engine.api.create_container(image, ["/never-started"], labels=found)["Id"]
            stack.callback(engine.api.remove_container, made, v=True, force=True)
            return made

        yield planted


@pytest.mark.parametrize("kind", ["container", "volume"])
def test_what_is_left_fails_the_session_with_its_name(
    kind: str, plant: Callable[[str, str], str], engine: Engine
) -> None:
    owner = f"planted-{secrets.token_hex(8)}"
    left = plant(kind, owner)
    assert belongings(engine.api, owner) == [left]
    with pytest.raises(AssertionError, match=left):
        await_nothing_left(engine.api, owner, looks=2)


@pytest.mark.parametrize("kind", ["container", "volume"])
def test_what_others_have_on_the_engine_is_theirs(kind: str, plant: Callable[[str, str], str], engine: Engine) -> None:
    plant(kind, f"planted-{secrets.token_hex(8)}")
    plant(kind, "")
    await_nothing_left(engine.api, f"planted-{secrets.token_hex(8)}", looks=1)
