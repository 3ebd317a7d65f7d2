"""A process that owns a run until it is killed: `python -m arci.isolation.conformance.owner MODULE:CALLABLE PYTHON`.

Reads the run plan from stdin (pickled by the check that starts it), prints `up` once its guests run, and sleeps.
"""

from __future__ import annotations

import importlib
import pickle
import sys

import anyio

from arci.isolation.base import RunPlan
from arci.isolation.conformance.bench import Bench
from arci.isolation.conformance.life import STUBBORN
from arci.isolation.remains import Observable
from arci.model.trial import Role


async def own(isolation: Observable, run: RunPlan, python: str) -> None:
    """Open the run, start guests that would outlive a careless owner, say so, and wait to be killed."""
    async with isolation.open(run) as slots:
        bench = Bench(isolation, run, slots, python)
        async with (
            bench.pod() as pod,
            bench.listening(pod) as boundary,
            bench.watching(pod, Role.AGENT, STUBBORN) as agent,
        ):
            if pod.shim is not None:  # without arci-init no server can be started
                await bench.start(pod, Role.ENVIRONMENT, STUBBORN)
                await boundary.until(b"heard up\n")
            await agent.until(b"up\n")
            sys.stdout.write("up\n")
            sys.stdout.flush()
            await anyio.sleep_forever()


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    isolation: Observable = getattr(importlib.import_module(module), name)()
    run = pickle.load(sys.stdin.buffer)
    anyio.run(own, isolation, run, sys.argv[2])


if __name__ == "__main__":
    main()
