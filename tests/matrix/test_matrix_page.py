"""The reference page against the table of clients: what it says was run is what the table names, and all got along."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import page, tables

from arci.manifest.descriptor import load_descriptor
from matrix.experiment import HERE, STEPS, Cell, descriptor_of, write_row
from matrix.page import markdown, text
from matrix.table import LEGACY, MODERN, TRANSPORTS, Row, rows

ALL = list(rows())


def cell(row: Row, transport: str, *, good: bool = True) -> Cell:
    steps = dict.fromkeys(STEPS, True) | {"faulted": good}
    return Cell(row, transport, "PASS" if good else "FAIL", row.mode.revision, steps, "" if good else "it gave up")


def cells() -> list[Cell]:
    return [cell(row, transport) for row in ALL for transport in TRANSPORTS.values()]


def test_the_page_tells_that_every_client_of_the_table_got_along() -> None:
    assert page("docs/reference/clients.md") == markdown(cells())


def test_every_row_has_an_id_of_its_own_and_a_revision_that_is_known() -> None:
    assert len({row.id for row in ALL}) == len(ALL)
    assert {row.mode.revision for row in ALL} == {LEGACY, MODERN}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.id)
def test_every_row_is_an_experiment_in_which_nothing_is_wrong(row: Row, tmp_path: Path) -> None:
    loaded = load_descriptor(write_row(row, tmp_path / row.id))
    assert loaded.experiment_id == f"matrix-{row.id}"
    assert (tmp_path / row.id / "client" / row.client.program).is_file()


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.id)
def test_what_is_installed_is_pinned(row: Row) -> None:
    separator = "@" if row.client.source == "node" else "=="
    assert all(package.rpartition(separator)[2][0].isdigit() for package in row.client.packages)
    args = descriptor_of(row)["images"]["agent"]["build"]["args"]
    assert args.get("PACKAGES", "").split() == list(row.client.packages)


def test_every_program_that_is_there_is_in_the_table() -> None:
    shared = {"Dockerfile", "seen.py", "seen.mjs"}
    found = {path.name for path in HERE.glob("clients/*/*") if path.is_file()} - shared
    assert found == {row.client.program for row in ALL}


def test_a_client_that_fails_is_told_of_in_both_tables() -> None:
    broken = cell(ALL[0], "http", good=False)
    assert tables(markdown([broken]))["What came of it"][0][8] == "NO"
    assert text([broken]).splitlines()[-1] == f"{ALL[0].id} over http: it gave up"
