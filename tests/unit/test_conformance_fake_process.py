"""The contract of a back end, one test per check, on the fake and on local processes."""

from __future__ import annotations

import sys

import anyio
import pytest

from arci.isolation.conformance.bench import Bench
from arci.isolation.conformance.check import Check, Result, Status
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.conformance.suite import CHECKS, run_check
from arci.isolation.fake import FakeIsolation
from arci.isolation.process.isolation import ProcessIsolation
from arci.isolation.process.native import find_init
from arci.isolation.remains import Observable

IN_THIS_PROCESS = (
    "the fake's guests are functions in this process: with their owner they are gone, in another they are unseen"
)
FAKE_GAPS = {"owner_killed": IN_THIS_PROCESS, "dead_runs_are_swept": IN_THIS_PROCESS}

WITHOUT_INIT = (
    "arci-init does not run here: nothing adopts what detaches from an agent, and nothing reports to the boundary"
)
NEEDS_INIT = (
    "agent_dies_with_boundary",
    "end_takes_the_tree",
    "files_and_status",
    "files_are_given_to_servers",
    "server_directory_is_fresh",
    "server_ends_with_its_boundary",
    "server_files_before_the_agent",
    "server_files_outlive_it",
    "server_is_served",
    "server_reads_its_boundary",
    "servers_side_by_side",
    "shim_reaches_boundary",
    "status_is_reported",
    "stop_kills_the_tree",
    "stop_with_grace_kills_the_tree",
    "stubborn_server_ends_with_its_pod",
)
PROCESS_GAPS = {} if find_init() else dict.fromkeys(NEEDS_INIT, WITHOUT_INIT)


def conform(isolation: Observable, check: Check, *, gap: str | None, owner: str, repeats: int) -> Result:
    run = conformance_plan("process")

    async def main() -> Result:
        async with isolation.open(run) as slots:
            bench = Bench(isolation, run, slots, python=sys.executable, repeats=repeats, owner=owner)
            return await run_check(bench, check, gap=gap)

    return anyio.run(main)


def expect(result: Result, *, gap: str | None, check: Check) -> None:
    if check.needs is not None:
        assert result.status is Status.NOT_APPLICABLE
        assert result.detail == f"lacks {check.needs.name}"
    elif gap is not None:
        assert result.status is Status.GAP, result.detail
    else:
        assert result.status is Status.PASSED, result.detail


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_fake_keeps_the_contract(check: Check) -> None:
    gap = FAKE_GAPS.get(check.name)
    result = conform(FakeIsolation(), check, gap=gap, owner="arci.isolation.fake:FakeIsolation", repeats=20)
    expect(result, gap=gap, check=check)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_processes_keep_the_contract(check: Check) -> None:
    gap = PROCESS_GAPS.get(check.name)
    owner = "arci.isolation.process.isolation:ProcessIsolation"
    expect(conform(ProcessIsolation(), check, gap=gap, owner=owner, repeats=100), gap=gap, check=check)


def test_every_check_has_a_name_of_its_own_and_says_what_it_shows() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS) >= 40
    assert all(check.shows for check in CHECKS)
