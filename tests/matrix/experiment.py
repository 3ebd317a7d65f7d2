"""A row of the matrix as an experiment of its own: its folder is written, `arci` runs it, its records are read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

import yaml
from trust import build_trust

from matrix.table import NODE, TRANSPORTS, Row

__all__ = ["Cell", "descriptor_of", "read_cells", "run_row", "write_row"]

HERE = Path(__file__).parent
INTERPRETERS = {"python": "python", "node": "node", "raw": "perl"}
SHARED = {"python": "seen.py", "node": "seen.mjs"}
CONDITION = "first-count-fails"
STEPS = ("discovery", "list", "faulted", "clean", "protocol")
_HANGS_S = 1800.0


@dataclass(frozen=True)
class Cell:
    """What became of one client in one mode over one transport."""

    row: Row
    transport: str
    outcome: str
    """Of the trial, as the grader judged it; `none` if there was no trial."""
    revision: str | None
    steps: dict[str, bool]
    """Step -> whether the client came through it."""
    detail: str
    """What went wrong, for a person; empty if nothing did."""

    @property
    def is_good(self) -> bool:
        return self.outcome == "PASS" and all(self.steps.values())


def descriptor_of(row: Row) -> dict[str, Any]:
    """The row's `arci.yaml`: the client over stdio against the same over HTTP, with the first call of `count` failing.

    One trial per arm says whether they get along. It proves no rate, and no verdict is asked for.
    """
    client, args = row.client, {}
    if client.packages:
        args["PACKAGES"] = " ".join(client.packages)
    if client.source == "node":
        args["NODE"] = NODE
    arms = {
        arm: {
            "label": f"{row.id} over {transport}",
            "command": {"argv": [INTERPRETERS[client.source], client.program, transport, *row.mode.arguments]},
        }
        for arm, transport in TRANSPORTS.items()
    }
    return {
        "experiment_id": f"matrix-{row.id}",
        "task": {"revision": row.mode.revision},
        "toolset": "world:open_shelf",
        "oracle": "oracle:judge",
        **arms,
        "conditions": [{"id": CONDITION, "fault": {"name": "tool_error_once", "tool": "count"}}],
        "n_per_arm": 1,
        "budgets": {"max_seconds": 300},
        "evidence": ["seen.json"],
        "isolation": "docker",
        "images": {
            "agent": {"build": {"context": "client", "args": args}},
            "project": {"build": {"context": "world"}},
        },
    }


def write_row(row: Row, directory: Path) -> Path:
    """The row's folder, made anew: `arci.yaml`, `client/` (what its image is built from) and `world/`."""
    shutil.rmtree(directory, ignore_errors=True)
    source = HERE / "clients" / row.client.source
    (directory / "client").mkdir(parents=True)
    for name in filter(None, ("Dockerfile", SHARED.get(row.client.source), row.client.program)):
        shutil.copy(source / name, directory / "client" / name)
    shutil.copytree(HERE / "world", directory / "world", ignore=shutil.ignore_patterns("__pycache__"))
    path = directory / "arci.yaml"
    path.write_text(yaml.safe_dump(descriptor_of(row), sort_keys=False, width=120), encoding="utf-8")
    return path


def run_row(row: Row, directory: Path) -> list[Cell]:
    """One cell per transport. What keeps the experiment from running is in the cells' detail."""
    path = write_row(row, directory)
    ended = subprocess.run(
        [sys.executable, "-m", "arci", "run", str(path), "--out", str(directory / "runs"), "--json"],
        capture_output=True,
        text=True,
        timeout=_HANGS_S,
        env=os.environ | build_ca(),
    )
    if not ended.stdout:
        trouble = f"exit {ended.returncode}: {ended.stderr.strip()}"
        return [Cell(row, t, "none", None, dict.fromkeys(STEPS, False), trouble) for t in TRANSPORTS.values()]
    return read_cells(row, Path(json.loads(ended.stdout)["run"]))


def build_ca() -> dict[str, str]:
    """The images are built with what this machine itself trusts."""
    return {name: value for name, value in build_trust().items() if value is not None}


def read_cells(row: Row, run: Path) -> list[Cell]:
    """The cells of a run directory, in the order of TRANSPORTS."""
    from arci.store.reader import read_run

    records = {record["arm"]: record for record in read_run(run).records}
    return [_cell(row, transport, run, records[arm]) for arm, transport in TRANSPORTS.items()]


def _cell(row: Row, transport: str, run: Path, record: Mapping[str, Any]) -> Cell:
    stdout, stderr = (_log(run, record, stream) for stream in ("stdout", "stderr"))
    seen, steps, detail = _last_object(stdout), dict.fromkeys(STEPS, False), _violations(run, record)
    if record["final_state"] is not None:
        steps |= _checks()({"revision": row.mode.revision}, record["final_state"], seen)
        steps["protocol"] = not detail
    if record["outcome"] != "PASS":
        detail += f"{record['ending']}: {record['detail']}\n{stderr[-4000:]}"
    return Cell(row, transport, record["outcome"], seen.get("revision"), steps, detail)


def _log(run: Path, record: Mapping[str, Any], stream: str) -> str:
    from arci.store.reader import read_log

    if "agent" not in record["logs"]:
        return ""
    return read_log(run, record["trial_id"], "agent", stream).kept.decode(errors="replace")


def _violations(run: Path, record: Mapping[str, Any]) -> str:
    """A line for each violation of protocol: what a client in the field does must not be one."""
    from arci.store.reader import read_events

    events = read_events(run, record["trial_id"])
    return "".join(f"violates the protocol: {e['detail']}\n" for e in events if e["kind"] == "protocol")


def _last_object(stdout: str) -> dict[str, Any]:
    """What the program wrote to `seen.json`, which it prints as well; empty if it did not come to that."""
    lines = stdout.strip().splitlines()
    try:
        value = json.loads(lines[-1]) if lines else {}
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}


def _checks() -> Any:
    """`checks` of the world's oracle: the table tells step by step what the grader judged as a whole."""
    spec = util.spec_from_file_location("matrix_oracle", HERE / "world" / "oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.checks
