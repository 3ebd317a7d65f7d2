"""Every package's session, run once for all tests that look at it, side by side: programs mostly wait or start. Then
the provider is gone, and each trial can be had as a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arci.bundle.engine_images import EngineImages, SourceImage, find_images
from arci.bundle.trust import Key
from arci.bundle.write import write_bundle
from arci.diagnose.rerun import read_recorded
from arci.isolation.docker.engine import Engine
from models.experiment import make_session
from models.provider import Provider, provider
from models.table import CLIENTS

__all__ = ["AT_ONCE", "Sessions", "bundle_by_reference", "recorded_sessions"]

AT_ONCE = 3
"""Experiments under way: what one waits for, another computes."""
_made: list[Sessions] = []


@dataclass(frozen=True)
class Sessions:
    """`runs`: id of a package -> the run directory of its session; nobody may write into it."""

    runs: Mapping[str, Path]
    provider: Provider
    """Stopped."""
    calls: int
    """Requests that reached it, by its own count."""


def recorded_sessions(factory: pytest.TempPathFactory) -> Sessions:
    """Those of all packages, made by the first who asks."""
    if not _made:
        directory = factory.mktemp("sessions")
        with provider() as found, ThreadPoolExecutor(AT_ONCE) as pool:
            runs = pool.map(lambda client: make_session(client, found, directory / client.id), CLIENTS)
            ids = [client.id for client in CLIENTS]
            _made.append(Sessions(dict(zip(ids, runs, strict=True)), found, found.calls()))
    return _made[0]


async def bundle_by_reference(engine: Engine, run: Path, trial_id: str, out: Path, key: Key) -> Path:
    """What `arci bundle --images reference` writes, for the engine that made the trial: the reference is its own id."""
    recorded = read_recorded(run, trial_id)
    there = await find_images(engine, recorded.manifest, recorded.trial.arm, where=str(run))
    ids = {image_key: image.id for image_key, image in (await there.describe()).items()}
    await write_bundle(run, trial_id, out, images=_ById(engine, ids), embed=False, key=key)
    return out


class _ById(EngineImages):
    """Images that a registry need not have, so that none is pushed or packed."""

    async def describe(self) -> dict[str, SourceImage]:
        found = await super().describe()
        return {key: replace(image, references=(image.id,)) for key, image in found.items()}
