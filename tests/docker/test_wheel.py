"""The wheel carries all that a run needs: arci-init for both architectures, and the recipes of the images."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "retry_agent" / "a-vs-b.yaml"


_built: list[Path] = []
"""The one wheel of a session, whichever module asks for it first."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a user builds it: in an environment of the build's own."""
    if not _built:
        out = tmp_path_factory.mktemp("wheel")
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(ROOT)],
            check=True,
        )
        _built.extend(out.glob("arci-*.whl"))
    return _built[0]


@pytest.mark.timeout(400)
def test_the_wheel_holds_arci_init_and_the_recipes(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert {"arci/_images/base.json", "arci/_images/runtime.Dockerfile", "arci/_images/seal.py"} <= names
    for name in ("arci/_native/arci-init-amd64", "arci/_native/arci-init-arm64"):
        assert modes[name] & 0o111, f"{name} must be executable"


@pytest.mark.timeout(400)
@pytest.mark.parametrize("backend", ["process", "docker"])
def test_an_installed_wheel_runs_an_experiment_without_the_checkout(wheel: Path, backend: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True)
    env = {**os.environ, "PYTHONPATH": str(site)}
    where = subprocess.run(
        [sys.executable, "-c", "import arci; print(arci.__file__)"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.strip() == str(site / "arci" / "__init__.py")
    done = subprocess.run(
        [sys.executable, "-m", "arci", "run", str(EXAMPLE), "--isolation", backend, "--n", "4", "--json"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    decision = json.loads(done.stdout)
    assert [decision["conditions"][0]["baseline"][key] for key in ("successes", "errors")] == [4, 0], done.stderr
