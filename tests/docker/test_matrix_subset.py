"""One client of each kind against the boundary, over stdio and HTTP: what `make matrix` does with all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix.experiment import run_row
from matrix.page import text
from matrix.table import TRANSPORTS, Row, rows

pytestmark = pytest.mark.timeout(1800)  # the first run on an engine builds the images

SOME = list(rows(every=False))


def test_every_kind_of_client_is_among_them() -> None:
    assert {row.client.id for row in SOME} == {"python-sdk-2", "typescript-sdk-1", "pydantic-ai", "raw"}


@pytest.mark.parametrize("row", SOME, ids=lambda row: row.id)
def test_a_client_of_its_own_kind_gets_along_over_both_transports(row: Row, tmp_path: Path) -> None:
    cells = run_row(row, tmp_path / row.id)
    assert [cell.transport for cell in cells] == list(TRANSPORTS.values())
    assert all(cell.is_good for cell in cells), text(cells)
