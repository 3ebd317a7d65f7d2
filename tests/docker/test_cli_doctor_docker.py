"""`arci doctor` on the engine that there is: found, asked, probed, its contract checked, and nothing left behind."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from e2e import Finished, arci

from arci.doctor.conformance import QUICK
from arci.isolation.docker.engine import Engine

pytestmark = pytest.mark.timeout(600)

NAMES = ["arci", "arci-init", "engine", "versions", "system", "runtime", "cgroup", "security", "images"]
PROBED = ["limits", "disk", "memory", "open files", "left-overs"]


@pytest.fixture(scope="module")
def examined() -> Finished:
    return arci("doctor", "--json", "--workers", 2)


def test_an_engine_that_enforces_everything_is_well(examined: Finished) -> None:
    assert examined.exit_code == examined.json["exit_code"] == 0, examined.stdout
    assert [finding["name"] for finding in examined.json["findings"]] == [*NAMES, *PROBED]
    assert "problem" not in {finding["health"] for finding in examined.json["findings"]}


def test_it_says_which_engine_and_why_and_what_was_agreed(examined: Finished, engine: Engine) -> None:
    facts = examined.json["engine"]
    assert (facts["endpoint"], facts["why"]) == (engine.endpoint, engine.why)
    assert facts["api_agreed"] == engine.api.api_version
    assert facts["version"] == engine.api.version()["Version"]
    (line,) = [finding for finding in examined.json["findings"] if finding["name"] == "engine"]
    assert line["detail"] == f"{engine.endpoint}, because {engine.why}"


def test_the_few_checks_ran_and_every_one_was_kept(examined: Finished) -> None:
    conformance = examined.json["conformance"]
    assert {result["name"]: result["status"] for result in conformance["results"]} == dict.fromkeys(QUICK, "passed")
    assert conformance["of"] > conformance["ran"] == len(QUICK)


def test_a_socket_that_nobody_serves_is_no_engine(tmp_path: Path) -> None:
    path = tmp_path / "odd.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))  # a name in the file system that outlives its server
    ended = arci("doctor", "--json", env={"DOCKER_HOST": f"unix://{path}"})
    assert (ended.exit_code, ended.json["exit_code"]) == (69, 69)
    (line,) = [finding for finding in ended.json["findings"] if finding["name"] == "engine"]
    assert str(path) in line["detail"]
