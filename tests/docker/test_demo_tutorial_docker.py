"""The tutorial's two sections that take more than processes: the installation, and the containers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks
from tutorial import IN_CONTAINERS, INSTALL, SECTIONS, Typist, lines_of

pytestmark = pytest.mark.timeout(1800)


def test_the_installation_goes_as_it_is_written(tmp_path: Path) -> None:
    """In one shell, since an activated environment is the shell's; in this checkout, as the page says."""
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", _cache())}
    script = "\n".join(["set -e", *lines_of(INSTALL)])
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == blocks(SECTIONS[INSTALL], "text")[0].text.rstrip()
    assert (tmp_path / "arci-venv" / "bin" / "arci").exists()


def _cache() -> str:
    """What was compiled or downloaded for this user before."""
    return str(Path.home() / ".cache")


def test_the_section_on_containers_goes_as_it_is_written(tmp_path: Path) -> None:
    typist = Typist(tmp_path, {"XDG_DATA_HOME": str(tmp_path / "data")})
    typist.type("2. An experiment")
    typist.edit("4. A bad day")
    typist.type("4. A bad day")
    typist.type(IN_CONTAINERS)
