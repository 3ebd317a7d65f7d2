"""`scripts/engine.sh` with stand-ins for the programs it calls: what it starts, and what it says where it may not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "engine.sh"


class Machine:
    """A directory of stand-ins; `docker` answers once the file `up` is there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        self.pid_file = root / "docker.pid"
        self.program("docker", f'[ -e "{root}/up" ]')
        self.program("id", "echo 0")
        self.dockerd("touch up")

    def program(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\ncd {self.root}\n{body}\n")
        path.chmod(0o755)

    def dockerd(self, body: str) -> None:
        self.program("dockerd", f"echo start >>starts\n{body}")

    @property
    def starts(self) -> int:
        path = self.root / "starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def run(self, **environ: str) -> tuple[int, str]:
        variables = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "ARCI_ENGINE_LOG": str(self.root / "log"),
            "ARCI_ENGINE_PID_FILE": str(self.pid_file),
            "ARCI_ENGINE_PATIENCE_S": "5",
            **environ,
        }
        done = subprocess.run(["sh", SCRIPT], cwd=self.root, env=variables, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if Path("/run/systemd/system").is_dir() or not Path("/etc/debian_version").exists():
        pytest.skip("here the script asks systemd, or may install nothing")
    return Machine(tmp_path)


def test_an_engine_that_answers_is_used_as_it_is(machine: Machine) -> None:
    (machine.root / "up").touch()
    assert machine.run() == (0, "")
    assert machine.starts == 0


def test_one_that_is_installed_is_started_once(machine: Machine) -> None:
    code, said = machine.run()
    assert (code, machine.starts) == (0, 1)
    assert str(machine.root / "log") in said
    assert machine.run() == (0, "")
    assert machine.starts == 1


@pytest.mark.parametrize("pid", ["999999999", "1", "nonsense"])
def test_a_stale_pid_file_does_not_keep_it_from_starting(machine: Machine, pid: str) -> None:
    machine.pid_file.write_text(pid)
    assert machine.run()[0] == 0
    assert machine.starts == 1
    assert not machine.pid_file.exists()


def test_one_that_ends_by_itself_is_told_with_its_last_words(machine: Machine) -> None:
    machine.dockerd("echo the reason; exit 1")
    code, said = machine.run()
    assert code == 69
    assert "the reason" in said
    assert "DOCKER_HOST" in said


def test_an_endpoint_that_somebody_chose_is_never_replaced(machine: Machine) -> None:
    code, said = machine.run(DOCKER_HOST="tcp://127.0.0.1:1")
    assert (code, machine.starts) == (69, 0)
    assert "nothing answers at DOCKER_HOST=tcp://127.0.0.1:1" in said


def test_without_root_it_says_what_to_do_and_touches_nothing(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    code, said = machine.run()
    assert (code, machine.starts) == (69, 0)
    assert "systemctl start docker" in said
    assert "--isolation process" in said
