"""A sign of life for a run whose slots come and go: one holder for all of it.

To the sweep of another `arci` a run without a living holder is dead. Where holders are made per trial there are moments
without one, in which a volume that was just made would be taken.
"""

from __future__ import annotations

from arci.isolation.base import RunPlan
from arci.isolation.docker.containers import Containers
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.relay import expect_line
from arci.isolation.docker.spec import ImageFacts, holder_config
from arci.model.manifest import Isolation

__all__ = ["cast_anchor", "keeps_slots"]


def keeps_slots(limits: Isolation) -> bool:
    """Whether a slot serves one trial after another. A writable root lets a joined container write its holder's
    /etc/hosts (tried)."""
    return limits.read_only and not limits.fresh_namespace


async def cast_anchor(containers: Containers, run: RunPlan, image: ImageFacts, files: int) -> None:
    """A holder of nothing. It goes with the run, as everything of `containers` does."""
    limits, owned = run.manifest.isolation, labels(run.run_id, run.manifest.experiment_id, HOLDER)
    config = holder_config(
        image, labels=owned, limits=limits, files=files, slot_volume=None, silence_ms=containers.silence_ms
    )
    await expect_line(await containers.launch(config), b"ready", "start a holder")
