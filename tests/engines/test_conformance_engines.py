"""The contract of a back end on other engines: over TCP with another file system, over TLS, Podman, without root."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from dockerds import OtherEngine
from gaps import GAPS
from reach import using

from arci.isolation.conformance.check import Check, Result, Status
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.conformance.suite import CHECKS, run_conformance
from arci.isolation.docker.engine import connect
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.runtime import ensure_runtime

IMAGE_KEYS = ("baseline", "candidate", "boundary", "grader")
OWNER = "arci.isolation.docker.isolation:DockerIsolation"
_results: dict[str, dict[str, Result]] = {}

pytestmark = pytest.mark.timeout(600)


def results(name: str, other: OtherEngine) -> dict[str, Result]:
    """All checks in one opened run, once per engine."""

    async def main() -> list[Result]:
        engine = await connect()
        image = (await ensure_runtime(engine)).image_id
        limits = {"allow_unenforced": bool(GAPS[name])}
        plan = conformance_plan("docker", image_refs=dict.fromkeys(IMAGE_KEYS, image), isolation=limits)
        return await run_conformance(DockerIsolation(engine), plan, gaps=GAPS[name], repeats=1, owner=OWNER)

    if name not in _results:
        with using(other.env):
            _results[name] = {result.name: result for result in anyio.run(main)}
    return _results[name]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("name", GAPS)
def test_other_engines_keep_the_contract(name: str, check: Check, started: Callable[[str], OtherEngine]) -> None:
    result = results(name, started(name))[check.name]
    assert result.status is (Status.GAP if check.name in GAPS[name] else Status.PASSED), result.detail
