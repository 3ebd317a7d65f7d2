"""`arci demo` out of a built wheel, in a directory that knows nothing of a checkout: with processes, in containers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_wheel import wheel  # noqa: F401  # the fixture is used by its name

from arci.demo.scene import PASSES_FROM
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN

pytestmark = pytest.mark.timeout(1800)

N = 60
PASSED = {"baseline": f"59/{N}", "candidate": f"39/{N}"}
REPAIRED = dict.fromkeys(("baseline", "candidate"), f"105/{PASSES_FROM}")


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """Where the wheel is installed."""
    site = tmp_path_factory.mktemp("installed")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True)
    return site


def played(site: Path, place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`arci demo` of the installed wheel, in a directory that knows nothing of a checkout."""
    program = "import arci, sys; print(arci.__file__, file=sys.stderr); from arci.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "demo", "--n", str(N), "--json", *options],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(site), "XDG_DATA_HOME": str(place / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith(f"{site}/arci/__init__.py\n")
    return done


def test_the_whole_story_holds_in_containers(site: Path, tmp_path: Path, engine: Engine) -> None:
    out = tmp_path / "new"
    done = played(site, tmp_path, "--isolation", "docker", "--out", str(out))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["holds"], told["isolation"], len(told["steps"])) == (True, "docker", 6)
    facts = [step["facts"] for step in told["steps"]]
    assert facts[1]["passed"] == PASSED
    assert (facts[3]["result"], facts[4]["verdict"], facts[5]["verdict"]) == ("1-minimal", "REPRODUCED", "PASS")
    assert facts[5]["passed"] == REPAIRED
    decision = json.loads((out / "runs" / "retry-a-vs-c" / "decision.json").read_bytes())
    assert decision["conditions"][0]["injections"] == {"baseline": 39, "candidate": 39}
    assert all(
        "--isolation" in argv for step in told["steps"] for argv in step["commands"] if argv[1] in ("run", "try")
    )
    runs = [json.loads(path.read_bytes())["run_id"] for path in out.glob("runs/*/run.json")]
    assert len(runs) == 4
    for run in runs:
        assert engine.api.containers(all=True, filters={"label": [f"{RUN}={run}"]}) == []


def test_an_installed_wheel_plays_the_demo_without_the_checkout(site: Path, tmp_path: Path) -> None:
    done = played(site, tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["holds"], told["directory"]) == (0, True, "arci-demo"), done.stderr
    assert told["steps"][1]["facts"]["passed"] == PASSED
