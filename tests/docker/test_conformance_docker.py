"""The contract of a back end, one test per check, on a real engine: all checks in one opened run."""

from __future__ import annotations

import anyio
import pytest

from arci.isolation.conformance.check import Check, Result, Status
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.conformance.suite import CHECKS, run_conformance
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.runtime import ensure_runtime

GAPS: dict[str, str] = {}
IMAGE_KEYS = ("baseline", "candidate", "boundary", "grader")
OWNER = "arci.isolation.docker.isolation:DockerIsolation"


@pytest.fixture(scope="module")
def results(engine: Engine) -> dict[str, Result]:
    async def main() -> list[Result]:
        image = (await ensure_runtime(engine)).image_id
        plan = conformance_plan("docker", image_refs=dict.fromkeys(IMAGE_KEYS, image))
        return await run_conformance(DockerIsolation(), plan, gaps=GAPS, repeats=8, owner=OWNER)

    return {result.name: result for result in anyio.run(main)}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_containers_keep_the_contract(check: Check, results: dict[str, Result]) -> None:
    result = results[check.name]
    assert result.status is (Status.GAP if check.name in GAPS else Status.PASSED), result.detail
