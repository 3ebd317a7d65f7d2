"""The contract of a back end, one test per check, on a real engine."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from arci.isolation.conformance.bench import Bench
from arci.isolation.conformance.check import Check, Result, Status
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.conformance.suite import CHECKS, run_check
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.runtime import ensure_runtime

GAPS: dict[str, str] = {}
IMAGE_KEYS = ("baseline", "candidate", "boundary", "grader")
OWNER = "arci.isolation.docker.isolation:DockerIsolation"


@pytest.fixture(scope="module")
def image(engine: Engine) -> Iterator[str]:
    yield anyio.run(ensure_runtime, engine).image_id


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_containers_keep_the_contract(check: Check, image: str) -> None:
    plan = conformance_plan("docker", image_refs=dict.fromkeys(IMAGE_KEYS, image))

    async def main() -> Result:
        isolation = DockerIsolation()
        async with isolation.open(plan) as slots:
            bench = Bench(isolation, plan, slots, "python3", 8, OWNER)
            return await run_check(bench, check, gap=GAPS.get(check.name))

    result = anyio.run(main)
    assert result.status is (Status.GAP if check.name in GAPS else Status.PASSED), result.detail
