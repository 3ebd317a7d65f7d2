"""Each example of a command agent is run as its reader would: its verdict and counts are those that its file states."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e import EXAMPLES, Finished, arci, records
from roots import file_names
from trust import build_trust

from arci.isolation.docker.engine import Engine

pytestmark = pytest.mark.timeout(900)

NAMES = ("c_agent", "node_sdk", "pydantic_ai", "python_sdk", "shell_agent")
EXPECTED = re.compile(r"Expected: (\w+), (\d+)/(\d+) against (\d+)/(\d+)")
EXIT_CODES = {"PASS": 0, "BLOCK": 1}


@dataclass(frozen=True)
class Stated:
    """What the first line of an example's descriptor promises."""

    verdict: str
    baseline: int
    candidate: int
    n: int


def stated(name: str) -> Stated:
    found = EXPECTED.search((EXAMPLES / name / "arci.yaml").read_text(encoding="utf-8").splitlines()[0])
    assert found is not None
    assert found[3] == found[5]
    return Stated(found[1], int(found[2]), int(found[4]), int(found[3]))


def run(name: str, out: Path) -> Finished:
    return arci("run", EXAMPLES / name / "arci.yaml", "--out", out, "--json", env=build_trust())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_ends_as_it_says(name: str, tmp_path: Path) -> None:
    expected = stated(name)
    ended = run(name, tmp_path)
    (condition,) = ended.json["conditions"]
    arms = {arm: (condition[arm]["successes"], condition[arm]["n"]) for arm in ("baseline", "candidate")}
    assert arms == {
        "baseline": (expected.baseline, expected.n),
        "candidate": (expected.candidate, expected.n),
    }, ended.stderr
    assert (ended.json["verdict"], ended.exit_code) == (expected.verdict, EXIT_CODES[expected.verdict])
    for record in records(ended.run).values():
        assert record["injections"] or name == "shell_agent", record["trial_id"]
        assert (record["ending"], record["blame"]) in (("completed", None), ("completed", "agent")), record["detail"]


@pytest.mark.parametrize("name", NAMES)
def test_a_readme_states_what_the_descriptor_does(name: str) -> None:
    expected = stated(name)
    readme = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    promise = f"{expected.verdict}, exit {EXIT_CODES[expected.verdict]}: {expected.baseline}/{expected.n} against "
    assert f"{promise}{expected.candidate}/{expected.n}" in readme


@pytest.mark.parametrize("name", ["c_agent", "shell_agent"])
def test_an_image_without_python_holds_none(name: str, engine: Engine) -> None:
    built = arci("images", "build", EXAMPLES / name / "arci.yaml", "--json", env=build_trust())
    names = file_names(engine, built.json["baseline"]["id"])
    assert names
    assert [name for name in names if "python" in name] == []
