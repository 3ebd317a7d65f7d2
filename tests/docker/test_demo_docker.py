"""`arci demo` in containers, and out of a built wheel in a directory that knows nothing of a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e import arci
from test_wheel import wheel  # noqa: F401  # the fixture is used by its name

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN

pytestmark = pytest.mark.timeout(1800)

N = 60
PASSED = {"baseline": "59/60", "candidate": "39/60"}


def test_the_whole_story_holds_in_containers(tmp_path: Path, engine: Engine) -> None:
    out = tmp_path / "new"
    home = {"XDG_DATA_HOME": str(tmp_path / "data")}
    ended = arci("demo", "--isolation", "docker", "--n", N, "--out", out, "--json", env=home)
    assert ended.exit_code == 0, ended
    told = ended.json
    assert (told["holds"], told["isolation"], len(told["steps"])) == (True, "docker", 6)
    facts = [step["facts"] for step in told["steps"]]
    assert facts[1]["passed"] == PASSED
    assert (facts[3]["result"], facts[4]["verdict"], facts[5]["verdict"]) == ("1-minimal", "REPRODUCED", "PASS")
    assert all(
        "--isolation" in argv for step in told["steps"] for argv in step["commands"] if argv[1] in ("run", "try")
    )
    runs = [json.loads(path.read_bytes())["run_id"] for path in out.glob("runs/*/run.json")]
    assert len(runs) == 4
    for run in runs:
        assert engine.api.containers(all=True, filters={"label": [f"{RUN}={run}"]}) == []


def test_an_installed_wheel_plays_the_demo_without_the_checkout(
    wheel: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True)
    env = {**os.environ, "PYTHONPATH": str(site), "XDG_DATA_HOME": str(tmp_path / "data")}
    program = "import arci, sys; print(arci.__file__, file=sys.stderr); from arci.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "demo", "--n", str(N), "--json"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith(f"{site}/arci/__init__.py\n")
    told = json.loads(done.stdout)
    assert (done.returncode, told["holds"], told["directory"]) == (0, True, "arci-demo"), done.stderr
    assert told["steps"][1]["facts"]["passed"] == PASSED
