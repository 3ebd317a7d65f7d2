"""A package as two experiments: its session, and one call under each fault. Folders are written, `arci` runs them, and
what came of it is read from the records."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from matrix.experiment import HERE as MATRIX
from matrix.experiment import INTERPRETERS, SHARED, build_ca

from models.provider import ANSWER, CALL, DIMENSIONS, MODEL, Provider
from models.table import FAULTS, MODES, NODE, Client, Fault

__all__ = ["Trial", "descriptor_of", "make_session", "read_trials", "run_faults", "run_session", "write_experiment"]

HERE = Path(__file__).parent
_HANGS_S = 1800.0


@dataclass(frozen=True)
class Trial:
    """What is looked at of one trial. `events` are those of its recording."""

    client: Client
    mode: str
    condition: str
    outcome: str
    detail: str
    seen: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]

    @property
    def calls(self) -> int:
        """Times that the model was asked."""
        return sum(event["kind"] == "model_start" for event in self.events)

    @property
    def untold(self) -> tuple[str, ...]:
        """Paths of the calls whose answers told no usage, each once."""
        started = {event["call_id"]: event["path"] for event in self.events if event["kind"] == "model_start"}
        finished = [event for event in self.events if event["kind"] == "model_finish"]
        return tuple(sorted({started[event["call_id"]] for event in finished if event["usage"] is None}))


def descriptor_of(client: Client, scope: str, base_url: str, faults: tuple[Fault, ...] = FAULTS) -> dict[str, Any]:
    """The `arci.yaml` of a scope, `session` or `call`: whole answers against streamed ones. One trial per arm says
    what a package does. It proves no rate, and no verdict is asked for."""
    arms = {
        arm: {
            "label": mode,
            "command": {"argv": [INTERPRETERS[client.source], client.program, mode, scope]},
        }
        for arm, mode in MODES.items()
    }
    faulted = [
        {"id": fault.name, "fault": {"name": fault.name, "occurrence": "every", "params": fault.params}}
        for fault in faults
    ]
    return {
        "experiment_id": f"models-{client.id}-{scope}",
        "task": {"answer": ANSWER, "call": CALL, "dimensions": DIMENSIONS, "steps": list(client.steps)},
        "toolset": "world:open_world",
        "oracle": f"oracle:judge_{scope}",
        **arms,
        "models": {"provider": {"kind": client.kind, "base_url": base_url, "model": MODEL}},
        "conditions": [{"id": "clean"}, *(faulted if scope == "call" else [])],
        "n_per_arm": 1,
        "budgets": {"max_seconds": 300},
        "evidence": ["seen.json"],
        "isolation": "docker",
        "images": {
            "agent": {"build": {"context": "client", "args": _build_args(client)}},
            "project": {"build": {"context": "world"}},
        },
    }


def _build_args(client: Client) -> dict[str, str]:
    packages = {"PACKAGES": " ".join(client.packages)}
    return {**packages, "NODE": NODE} if client.source == "node" else packages


def write_experiment(directory: Path, client: Client, document: Mapping[str, Any]) -> Path:
    """`directory`, made anew: `arci.yaml`, `client/` (what the agent's image is built from) and `world/`."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "client").mkdir(parents=True)
    shutil.copy(MATRIX / "clients" / client.source / "Dockerfile", directory / "client")
    for name in (SHARED[client.source], client.program):
        shutil.copy(HERE / "clients" / client.source / name, directory / "client")
    shutil.copytree(HERE / "world", directory / "world", ignore=shutil.ignore_patterns("__pycache__"))
    path = directory / "arci.yaml"
    path.write_text(yaml.safe_dump(dict(document), sort_keys=False, width=120), encoding="utf-8")
    return path


def run_session(client: Client, provider: Provider, directory: Path) -> list[Trial]:
    """Both modes of the session."""
    return read_trials(client, make_session(client, provider, directory))


def make_session(client: Client, provider: Provider, directory: Path) -> Path:
    """As `run_session`: the run directory, unread."""
    return _run(client, directory, descriptor_of(client, "session", provider.base_url(client.kind)))


def run_faults(client: Client, provider: Provider, directory: Path, faults: tuple[Fault, ...] = FAULTS) -> list[Trial]:
    """Both modes of the one call, without a fault and under each."""
    document = descriptor_of(client, "call", provider.base_url(client.kind), faults)
    return read_trials(client, _run(client, directory, document))


def _run(client: Client, directory: Path, document: Mapping[str, Any]) -> Path:
    path = write_experiment(directory, client, document)
    ended = subprocess.run(
        [sys.executable, "-m", "arci", "run", str(path), "--workers", "6", "--out", str(directory / "runs"), "--json"],
        capture_output=True,
        text=True,
        timeout=_HANGS_S,
        env=os.environ | build_ca(),
    )
    if not ended.stdout:
        raise RuntimeError(f"{client.id}: exit {ended.returncode}: {ended.stderr.strip()}")
    return Path(json.loads(ended.stdout)["run"])


def read_trials(client: Client, run: Path) -> list[Trial]:
    """The trials of a run directory, in the order of conditions and modes."""
    from arci.store.reader import read_events, read_run

    found = read_run(run)
    assert found.manifest is not None
    order = [condition["id"] for condition in found.manifest["conditions"]]
    records = sorted(found.records, key=lambda record: (order.index(record["condition_id"]), record["arm"]))
    return [
        Trial(
            client=client,
            mode=MODES[record["arm"]],
            condition=record["condition_id"],
            outcome=record["outcome"],
            detail=f"{record['ending']}: {record['detail']}\n{_log(run, record)}",
            seen=_last_object(_log(run, record)),
            events=tuple(read_events(run, record["trial_id"])),
        )
        for record in records
    ]


def _log(run: Path, record: Mapping[str, Any]) -> str:
    from arci.store.reader import read_log

    if "agent" not in record["logs"]:
        return ""
    streams = (read_log(run, record["trial_id"], "agent", stream) for stream in ("stderr", "stdout"))
    return "".join(stream.kept.decode(errors="replace") for stream in streams)


def _last_object(output: str) -> dict[str, Any]:
    """What the program wrote to `seen.json`, which it prints as well; empty if it did not come to that."""
    lines = output.strip().splitlines()
    try:
        value = json.loads(lines[-1]) if lines else {}
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}
