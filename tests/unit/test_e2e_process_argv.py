"""A secret of the host is handed on in environments alone: an argv is there for everybody on the machine to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e import arci, descriptor, project, records

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

NAME, SECRET = "ARCI_TEST_ARGV_TOKEN", "mark-0b7e44-argv"
FILES = {
    "world.py": """
        class World:
            tools = {}

            def snapshot(self):
                return {}


        def open_world(task, seed):
            return World()


        def judge(task, final_state, evidence):
            return evidence["claim"] == {"told": []}
    """,
    "agent.py": """
        import os


        def argvs(word):
            told = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open("/proc/" + pid + "/cmdline", "rb") as file:
                        argv = file.read()
                except OSError:
                    continue
                if word.encode() in argv:
                    told.append(argv.decode(errors="replace").replace("\\0", " "))
            return told


        def run(task, tools, rng):
            assert argvs("arci"), "it sees the processes of its own run"
            return {"told": argvs(os.environ["TOKEN"])}
    """,
}


def test_no_process_of_a_run_has_a_secret_in_its_argv(tmp_path: Path) -> None:
    """N50: looked for from within, while recorder, init, worker and `arci` itself are at work."""
    arm = {"agent": "agent:run", "env": {"TOKEN": f"${{{NAME}}}"}}
    document = {
        "experiment_id": "argv",
        "task": {},
        "toolset": "world:open_world",
        "contract": {"oracle": "world:judge"},
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "secrets": [NAME],
        "n_per_arm": 1,
        "isolation": "process",
    }
    path = descriptor(project(tmp_path, FILES), document)
    ended = arci("run", path, "--out", tmp_path / "runs", "--json", env={NAME: SECRET})
    found = {(record["outcome"], record["detail"]) for record in records(ended.run).values()}
    assert {outcome for outcome, _ in found} == {"PASS"}, found
