"""An engine without room: what cannot be loaded is told with its cause and a remedy, and is not there afterwards."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from dockerds import mortal_dockerd
from e2e import arci
from machines import skip_unless_it_can_be_had
from reach import connected

from arci.isolation.docker.base_image import base_tag, find_image
from arci.isolation.docker.engine import Engine

pytestmark = pytest.mark.timeout(300)


def test_images_that_have_no_room_are_refused_and_none_is_left_half_loaded(usual: Engine, base: Path) -> None:
    """N8, N20: a failed step is never remembered as done."""
    skip_unless_it_can_be_had()
    with mortal_dockerd(usual.api.info()["Driver"], room="60m") as other:
        loaded = arci("images", "load", base, env=other.variables)
        assert loaded.exit_code == 3, loaded.stdout
        assert "no space left on device" in loaded.stderr
        assert "arci images prune" in loaded.stderr
        engine = connected(other.env)
        assert anyio.run(find_image, engine, base_tag()) is None
        assert engine.api.images() == []
        engine.close()
