"""Every hostile agent on the engine that there is, as a user calls the suite: all contained, and nothing left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from e2e import Finished, arci

from arci.containment.groups import GROUPS, all_claims

pytestmark = pytest.mark.timeout(1800)

CLAIMS = {claim.name: claim for claim in all_claims()}
HONEST = [f"{group.name}-{task}" for group in GROUPS for task in group.honest_tasks]


@pytest.fixture(scope="module")
def finished() -> Finished:
    return arci("doctor", "--containment", "--json")


@pytest.fixture(scope="module")
def rows(finished: Finished) -> dict[str, Mapping[str, Any]]:
    return {row["name"]: row for row in finished.json}


def test_everything_is_contained_and_the_exit_code_says_so(finished: Finished) -> None:
    assert [row for row in finished.json if not row["contained"]] == []
    assert finished.exit_code == 0


@pytest.mark.parametrize("name", CLAIMS)
def test_the_claim_fails(name: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    row, claim = rows[name], CLAIMS[name]
    assert row["contained"], row["why"]
    assert (row["outcome"], row["ending"], row["left"]) == (claim.outcome, claim.ending, [])


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_passes_where_attackers_were(name: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    assert (rows[name]["contained"], rows[name]["outcome"]) == (True, "PASS"), rows[name]["why"]


def test_the_rows_stand_in_the_order_of_the_table(finished: Finished) -> None:
    order = [
        name
        for group in GROUPS
        for name in (*(c.name for c in group.claims), *(f"{group.name}-{task}" for task in group.honest_tasks))
    ]
    assert [row["name"] for row in finished.json] == order
