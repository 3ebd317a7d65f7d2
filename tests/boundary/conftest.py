"""The small host's working directory, closed after each test with whatever was started in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_host import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()
