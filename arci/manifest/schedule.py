"""The sealed manifest -> every planned trial in the order of execution. Pure: the same manifest, the same schedule."""

from __future__ import annotations

import hmac
import random
from dataclasses import asdict

from arci.model.canonical import digest
from arci.model.manifest import Condition, Manifest, Task
from arci.model.trial import ARMS, Trial

__all__ = ["agent_seed", "pair_order", "schedule"]


def schedule(manifest: Manifest) -> tuple[Trial, ...]:
    """All `2 * conditions * n_per_arm` trials: pairs in a seeded shuffle, the arms of a pair adjacent and alternating.

    So a drift of the machine falls on both arms alike. The order changes no trial's identity.
    """
    tasks = [(task, digest(task.value)) for task in manifest.tasks]
    salt = _salt(manifest)
    trials: list[Trial] = []
    for position, (condition, index) in enumerate(pair_order(manifest)):
        task, task_sha256 = tasks[index % len(tasks)]
        arms = ARMS if position % 2 == 0 else ARMS[::-1]
        trials.extend(_trial(manifest, salt, condition, index, arm, task, task_sha256) for arm in arms)
    return tuple(trials)


def pair_order(manifest: Manifest) -> list[tuple[Condition, int]]:
    """(condition, 0-based index) of every pair, in the order of execution."""
    pairs = [(condition, index) for condition in manifest.conditions for index in range(manifest.n_per_arm)]
    random.Random(f"{manifest.base_seed}:schedule").shuffle(pairs)
    return pairs


def agent_seed(trial: Trial) -> int:
    """What the agent is told as `ARCI_SEED`: 0 .. 2^52 - 1, the same for both arms of a pair and on every back end.

    Derived with a key that the agent is not told, so that the trial's own seed, and with it the world's and the faults'
    draws, cannot be found by trying: base seeds are small numbers.
    """
    return int(hmac.new(trial.salt.encode(), f"{trial.seed}:arci-seed".encode(), "sha256").hexdigest()[:13], 16)


def _salt(manifest: Manifest) -> str:
    """Over what makes the experiment, whatever back end, arms and number of trials: none of these moves a seed."""
    tasks = [[task.id, task.value] for task in manifest.tasks]
    judged = [asdict(manifest.contract), asdict(manifest.grader), manifest.environment.ref]
    return digest([manifest.experiment_id, manifest.base_seed, tasks, judged])


def _trial(
    manifest: Manifest, salt: str, condition: Condition, index: int, arm: str, task: Task, task_sha256: str
) -> Trial:
    seed = manifest.base_seed + index
    pair_id = f"{condition.id}:{index:05d}"
    identity = [manifest.sha256, condition.id, task.id, task_sha256, index, arm, seed]
    return Trial(
        condition_id=condition.id,
        index=index,
        arm=arm,
        seed=seed,
        task_id=task.id,
        task=task.value,
        pair_id=pair_id,
        trial_id=f"{pair_id}:{arm}",
        trial_sha256=digest(identity),
        salt=salt,
    )
