"""Experiments of the demo's directory, made as `arci run` and `arci try` make them, and the commands for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arci.demo.scene import Command, Scene
from arci.gate.decision import ConditionDecision, Decision
from arci.steps import RUN_STEPS, SEAL_STEPS, Job, RunOptions, through

__all__ = ["Ended", "counts", "run_command", "run_experiment", "try_candidate", "try_command"]


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that was decided."""

    decision: Decision
    records: Mapping[str, Mapping[str, Any]]
    """Trial id -> record."""

    @property
    def condition(self) -> ConditionDecision:
        """The one that there is, or the last."""
        return self.decision.conditions[-1]


async def run_experiment(scene: Scene, name: str, n: int | None = None) -> Ended:
    """All of `arci run NAME`. A run of a trial or two tells no progress: what it warns of is beside the point."""
    options = RunOptions(scene.path(name), backend=scene.backend, n_per_arm=n, out=scene.path("runs"))
    told = Job(options, observer=scene.observer, notice=scene.notice) if n is not None else Job(options)
    job = await through(RUN_STEPS, told)
    assert job.decision is not None
    assert job.stored is not None
    return Ended(job.decision, {str(record["trial_id"]): record for record in job.stored.records})


async def try_candidate(scene: Scene, name: str, index: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """All of `arci try NAME --index INDEX`: the sealed manifest, and the record of its candidate's trial."""
    from arci.run.single import choose_trial, make_one

    job = await through(SEAL_STEPS, Job(RunOptions(scene.path(name), backend=scene.backend), notice=scene.notice))
    assert job.document is not None
    assert job.isolation is not None
    trial = choose_trial(job.manifest, arm="candidate", condition=None, index=index)
    return job.document, (await make_one(job.manifest, job.isolation, trial)).record


def run_command(scene: Scene, name: str, n: int | None = None) -> Command:
    """As it is typed in the scene's directory."""
    trials = () if n is None else ("--n", str(n))
    return ("arci", "run", name, *_isolation(scene), *trials)


def try_command(scene: Scene, name: str, index: int) -> Command:
    return ("arci", "try", name, *_isolation(scene), "--index", str(index))


def counts(condition: ConditionDecision) -> dict[str, str]:
    """Arm -> `192/200`."""
    return {name: f"{arm.successes}/{arm.n}" for name, arm in condition.arms.items()}


def _isolation(scene: Scene) -> tuple[str, ...]:
    return () if scene.backend == "process" else ("--isolation", scene.backend)
