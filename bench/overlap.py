"""`python -m bench.overlap`: how well trials that wait for their model overlap, on both back ends.

Wall time of a run against the ideal, in which only `--workers` bounds how many wait at once, and against the same run
with a model that answers at once, which is what the machine itself takes. Writes `build/overlap.json`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "waiting"
SERVER = Path(__file__).with_name("slow_model.py")
CALLS = 3
"""Of a trial, as its agent has it."""


@contextmanager
def slow_model(latency_s: float) -> Iterator[str]:
    """Its base URL."""
    argv = [sys.executable, str(SERVER), str(latency_s)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.communicate()


def descriptor(directory: Path, backend: str, base_url: str, trials: int, workers: int) -> Path:
    model = {"kind": "openai", "base_url": base_url, "concurrency": 2 * workers, "max_requests_per_minute": 1_000_000}
    document = {
        "experiment_id": "bench-overlap",
        "toolset": "world:open_world",
        "oracle": "world:is_done",
        "baseline": {"agent": "agent:run", "context": "agent"},
        "candidate": {"agent": "agent:run", "context": "agent"},
        "models": {"slow": model},
        "n_per_arm": trials // 2,
        "budgets": {"max_seconds": 300},
        "isolation": {"backend": backend, "memory": "128m"},
        "images": {"project": {"build": {"context": "world"}}},
    }
    shutil.copytree(HERE, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    path = directory / "arci.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def wall_s(backend: str, latency_s: float, trials: int, workers: int) -> float:
    """Seconds of the trials alone: what comes before the first is no part of it."""
    with tempfile.TemporaryDirectory() as name, slow_model(latency_s) as base_url:
        path = descriptor(Path(name), backend, base_url, trials, workers)
        argv = ["run", str(path), "--workers", str(workers), "--out", f"{name}/runs", "--json"]
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "arci", *argv], capture_output=True, text=True, check=False)
        whole = time.perf_counter() - begun
        decision = json.loads(done.stdout) if done.stdout else None
        if decision is None or decision["verdict"] == "ERROR":
            raise RuntimeError(f"exit {done.returncode}: {done.stderr[-2000:]} {decision and decision['reasons']}")
        info = json.loads((Path(decision["run"]) / "run.json").read_bytes())
    return min(whole, _between(info["started_at"], info["ended_at"]))


def _between(begun: str, ended: str) -> float:
    from datetime import datetime

    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()


def measured(backend: str, options: argparse.Namespace) -> dict[str, float]:
    ideal = options.trials / options.workers * CALLS * options.latency
    busy = wall_s(backend, 0.0, options.trials, options.workers)
    waiting = wall_s(backend, options.latency, options.trials, options.workers)
    found = {"ideal_s": ideal, "without_waiting_s": busy, "wall_s": waiting, "ratio": waiting / ideal}
    found["ratio_to_what_can_be"] = waiting / max(ideal, busy)
    return {name: round(value, 2) for name, value in found.items()}


def told(backend: str, found: dict[str, float]) -> str:
    return (
        f"{backend:8} {found['wall_s']:7.1f} s: {found['ratio']:.2f} of the ideal {found['ideal_s']:.1f} s;"
        f" {found['without_waiting_s']:.1f} s without waiting"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.overlap", description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of one call")
    parser.add_argument("--backends", nargs="+", default=["process", "docker"])
    parser.add_argument("--out", type=Path, default=Path("build/overlap.json"))
    options = parser.parse_args()
    print(
        f"{options.trials} trials, {options.workers} workers, {CALLS} calls of {options.latency:g} s each", flush=True
    )
    found: dict[str, Any] = {}
    for backend in options.backends:
        found[backend] = measured(backend, options)
        print(told(backend, found[backend]), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
