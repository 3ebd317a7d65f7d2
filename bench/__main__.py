"""`python -m bench`: trials per second of both back ends as ratios to the bare engine, in one run on one machine; those
of command agents; what guests cost to start.

Prints a table and writes `build/bench.json`. Rounds of ours and of the bare engine alternate, and the order turns round
with each, so that a drift of the machine falls on both; the median round counts. A round to warm up is not counted: a
file system may take longer for what comes next the more was removed in the last minutes (ext4 without a journal does),
so whoever came first on a rested engine would look the fastest.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio

from arci.api import Job, RunOptions, check, default_workers, load, place, resolve_and_seal, run
from arci.store.reader import read_run
from bench.bare_engine import ROLES, empty_trials_per_s, plain_trials_per_s
from bench.importtime import GUESTS, start_up
from bench.recorder_cpu import MOST_MS, ready_cpu_ms, ready_imports
from bench.recorder_latency import FIRST_CHUNK_MS, added_ms
from bench.recorder_latency import MOST_MS as MOST_ADDED_MS

EXAMPLE = Path("examples/retry_agent/a-vs-a.yaml")
COMMAND = Path("bench/command/arci.yaml")
PART = 0.2
"""Of a run's trials, those that end while it still makes holders."""
PHASES = ("create", "start", "ready", "agent", "seal", "grade")


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


async def prepared(backend: str, trials: int, workers: int, out: Path, example: Path = EXAMPLE) -> Job:
    """The experiment, sealed and checked: everything before trial 1."""
    job = Job(RunOptions(example, backend, max(1, trials // 2), out, workers, force=True))
    for step in (load, place, resolve_and_seal, check):
        job = await step(job)
    return job


async def measured(job: Job) -> dict[str, Any]:
    """One run of all its trials: rate, CPU per trial, and mean seconds by phase."""
    begun, cpu = time.perf_counter(), cpu_s()
    done = await run(job)
    spent, cpu = time.perf_counter() - begun, cpu_s() - cpu
    assert done.directory is not None
    records = read_run(done.directory).records
    steady = rate_after(PART, records)
    phases: Counter[str] = Counter()
    for record in records:
        assert record["outcome"] != "ERROR", record["detail"]
        phases.update(record["phases"])
    return {
        "trials": len(records),
        "trials_per_s": len(records) / spent,
        "steady_trials_per_s": steady,
        "cpu_s_per_trial": cpu / len(records),
        "phases_s": {name: phases[name] / len(records) for name in PHASES},
    }


def rate_after(part: float, records: Sequence[Mapping[str, Any]]) -> float:
    """Trials per second of those that ended after the first `part` of all: by then the run has made what it keeps."""
    ends = sorted(datetime.fromisoformat(record["ended_at"]).timestamp() for record in records)
    first = max(1, round(part * len(ends)))
    return (len(ends) - first) / (ends[-1] - ends[first - 1])


async def docker_and_engine(trials: int, workers: int, rounds: int, out: Path) -> dict[str, Any]:
    """Alternating rounds of the docker back end and of the bare engine."""
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.runtime import ensure_runtime
    from arci.isolation.docker.spec import ImageFacts

    engine = await connect()
    runtime = await ensure_runtime(engine)
    inspected = engine.api.inspect_image(runtime.image_id)  # type: ignore[no-untyped-call]  # untyped in the stubs
    image = ImageFacts.from_inspect(inspected)
    job = await prepared("docker", trials, workers, out)
    ours, empty, plain = [], [], []

    async def own() -> None:
        ours.append(await measured(job))

    async def bare() -> None:
        empty.append(empty_trials_per_s(engine, job.manifest, runtime, trials=trials, workers=workers))
        plain.append(plain_trials_per_s(engine, job.manifest, runtime, trials=trials, workers=workers))

    empty_trials_per_s(engine, job.manifest, runtime, trials=trials, workers=workers)
    for number in range(rounds):
        for side in (own, bare) if number % 2 else (bare, own):
            await side()
        rates = f"docker {ours[-1]['steady_trials_per_s']:.2f}, engine {empty[-1]:.2f} trials/s (plain {plain[-1]:.2f})"
        print(f"round {number + 1}: {rates}", flush=True)
    phases = {name: round(statistics.median(o["phases_s"][name] for o in ours), 4) for name in PHASES}
    phases["remove"] = round(await removal_s(engine, image, job), 4)
    return {
        "docker": {
            "trials_per_s": round(statistics.median(o["trials_per_s"] for o in ours), 3),
            "steady_trials_per_s": round(statistics.median(o["steady_trials_per_s"] for o in ours), 3),
            "ratio": ratio(ours, empty),
            "ratio_plain": ratio(ours, plain),
            "ratio_whole_run": ratio(ours, empty, "trials_per_s"),
            "host_cpu_s_per_trial": round(statistics.median(o["cpu_s_per_trial"] for o in ours), 4),
            "phases_s": phases,
        },
        "engine": {
            "trials_per_s": round(statistics.median(empty), 3),
            "plain_trials_per_s": round(statistics.median(plain), 3),
        },
    }


def ratio(ours: list[dict[str, Any]], base: list[float], rate: str = "steady_trials_per_s") -> float:
    """The median of the rounds'. The bare engine's holders are made before what is measured, so those of a run are left
    out too, unless `rate` is that of the whole run."""
    return float(round(statistics.median(o[rate] / b for o, b in zip(ours, base, strict=True)), 3))


async def removal_s(engine: Any, image: Any, job: Job) -> float:
    """Seconds the engine takes to remove three ended containers; off a trial's critical path."""
    from arci.isolation.docker.spec import container_config

    config = container_config(
        image, ["/opt/arci/bin/arci-init", "--version"], env={}, labels={}, network="none",
        limits=job.manifest.isolation, files=1024,
    )  # fmt: skip
    ids = [engine.api.create_container_from_config(config)["Id"] for _ in range(3)]
    for container in ids:
        engine.api.start(container)
        engine.api.wait(container)
    begun = time.perf_counter()
    for container in ids:
        engine.api.remove_container(container, v=True, force=True)
    return time.perf_counter() - begun


async def alone(backend: str, example: Path, options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """The median of the rounds of one experiment."""
    job = await prepared(backend, options.trials, options.workers, out, example)
    runs = [await measured(job) for _ in range(options.rounds)]
    return {
        "trials_per_s": round(statistics.median(r["trials_per_s"] for r in runs), 3),
        "cpu_s_per_trial": round(statistics.median(r["cpu_s_per_trial"] for r in runs), 4),
        "phases_s": {name: round(statistics.median(r["phases_s"][name] for r in runs), 4) for name in PHASES},
    }


def recorder_cpu() -> dict[str, Any]:
    """CPU milliseconds of a recorder until it is ready, and what it adds to a call of a model."""
    return {
        "ready_cpu_ms": round(ready_cpu_ms("toolset"), 1),
        "ready_with_server_cpu_ms": round(ready_cpu_ms("server"), 1),
        "most_cpu_ms": MOST_MS,
        "model_call": {**added_ms(), "most_ms": MOST_ADDED_MS, "most_first_chunk_ms": FIRST_CHUNK_MS},
    }


def help_s() -> float:
    """Seconds of `arci --help`, the median of five."""
    import subprocess

    def once() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "arci", "--help"], capture_output=True, check=True)
        return time.perf_counter() - begun

    return statistics.median(once() for _ in range(5))


def table(found: dict[str, Any]) -> str:
    """The result for people."""
    docker, process, command, recorder = (found[name] for name in ("docker", "process", "command", "recorder"))
    lines = [
        f"docker    {docker['steady_trials_per_s']:6.2f} trials/s   {docker['ratio']:.2f} of the bare engine"
        f" ({found['engine']['trials_per_s']:.2f} trials/s of the same {found['guests']} containers, empty),"
        f" {docker['ratio_plain']:.2f} of plain ones ({found['engine']['plain_trials_per_s']:.2f})",
        f"           {docker['trials_per_s']:5.2f} trials/s   {docker['ratio_whole_run']:.2f} with what a run makes and"
        " removes around its trials: a pair of holders for each worker and arm",
        f"process   {process['trials_per_s']:6.2f} trials/s   {process['cpu_s_per_trial']:.3f} CPU s per trial",
        f"commands  {command['docker']['trials_per_s']:6.2f} trials/s on docker,"
        f" {command['process']['trials_per_s']:.2f} as processes: a client of raw frames with five calls",
        f"recorder ready in {recorder['ready_cpu_ms']:.1f} ms of CPU, with an MCP server in"
        f" {recorder['ready_with_server_cpu_ms']:.1f} (at most {MOST_MS:g})",
        _added(recorder["model_call"]),
        f"arci --help in {found['help_s']:.3f} s; {found['workers']} workers, {found['trials']} trials a round",
        "",
        "mean seconds by phase   " + "".join(f"{name:>9}" for name in (*PHASES, "remove")),
        "docker                  " + "".join(f"{docker['phases_s'][name]:9.3f}" for name in (*PHASES, "remove")),
        "process                 " + "".join(f"{process['phases_s'][name]:9.3f}" for name in PHASES) + "        -",
        "command, docker         " + "".join(f"{command['docker']['phases_s'][name]:9.3f}" for name in PHASES),
        "",
    ]
    started = {**found["guests_importtime"], "recorder, ready": recorder["imports"]}
    for guest, facts in started.items():
        dearest = ", ".join(f"{name} {ms} ms" for name, ms in facts["dearest"].items())
        lines.append(f"{guest:15} imports {facts['modules']:3} modules in {facts['total_ms']:5.1f} ms: {dearest}")
    return "\n".join(lines)


def _added(call: dict[str, float]) -> str:
    return (
        f"recorder adds {call['whole_ms']:.2f} ms to a call of a model (at most {call['most_ms']:g};"
        f" {call['whole_cpu_ms']:.2f} ms of CPU), {call['first_chunk_ms']:.2f} to the first piece of a streamed answer"
        f" (at most {call['most_first_chunk_ms']:g})"
    )


async def bench(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        found = await docker_and_engine(options.trials, options.workers, options.rounds, out)
        process = await alone("process", EXAMPLE, options, out)
        command = {backend: await alone(backend, COMMAND, options, out) for backend in ("docker", "process")}
    return {
        **found,
        "process": process,
        "command": command,
        "recorder": {**recorder_cpu(), "imports": ready_imports()},
        "guests": len(ROLES),
        "trials": options.trials,
        "workers": options.workers,
        "help_s": round(help_s(), 4),
        "guests_importtime": {guest: start_up(guest) for guest in GUESTS},
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--trials", type=int, default=100, help="trials of a round")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--workers", type=int, default=default_workers())
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"))
    options = parser.parse_args()
    found = anyio.run(bench, options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"\n{table(found)}\n\nwritten to {options.out}")


if __name__ == "__main__":
    main()
