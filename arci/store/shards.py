"""A run in parts: which pairs of a sealed manifest belong to shard i of k, and what its store is called. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.errors import UsageError
from arci.manifest.schedule import schedule
from arci.model.manifest import Manifest
from arci.model.trial import Trial
from arci.store.layout import safe_experiment_id

__all__ = ["Shard", "parse_shard", "shard_of", "shard_trials", "store_name"]

_WRITTEN = re.compile(r"([1-9][0-9]{0,4})/([1-9][0-9]{0,4})")
_TURN = 2
"""Pairs that stay together: the arm that goes first alternates from pair to pair, so each shard has both orders."""


@dataclass(frozen=True, slots=True)
class Shard:
    """`index` of `count`, both from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def to_document(self) -> dict[str, int]:
        """What `run.json` holds."""
        return {"index": self.index, "count": self.count}


def parse_shard(text: str) -> Shard:
    """`i/k` as a person writes it. UsageError else."""
    found = _WRITTEN.fullmatch(text)
    shard = Shard(int(found[1]), int(found[2])) if found else None
    if shard is None or shard.index > shard.count:
        raise UsageError(f"--shard: {text!r}; i/k with 1 <= i <= k is allowed, such as 2/4.")
    return shard


def shard_of(info: Mapping[str, Any] | None) -> Shard | None:
    """Which shard a `run.json` belongs to; None for that of a whole run. ValueError where it is written wrongly."""
    written = (info or {}).get("shard")
    if written is None:
        return None
    index, count = (written.get("index"), written.get("count")) if isinstance(written, dict) else (None, None)
    if not isinstance(index, int) or not isinstance(count, int) or bool in (type(index), type(count)):
        raise ValueError(f"shard: {written!r} is none")
    if not 1 <= index <= count or len(written) != 2:
        raise ValueError(f"shard: {written!r} is none")
    return Shard(index, count)


def shard_trials(manifest: Manifest, shard: Shard) -> tuple[Trial, ...]:
    """The planned trials of a shard, in the order of the schedule. Every pair is in exactly one shard, both arms of it.

    UsageError where a shard would be empty, or the manifest plans looks, which are taken of a whole run.
    """
    if manifest.looks:
        raise UsageError(f"--shard: the manifest plans looks ({_listed(manifest.looks)}), which a part cannot take.")
    trials = schedule(manifest)
    turns = -(-len(trials) // (2 * _TURN))
    if shard.count > turns:
        raise UsageError(f"--shard: {shard}; the {len(trials) // 2} pairs can be split into at most {turns} shards.")
    return tuple(t for at, t in enumerate(trials) if at // (2 * _TURN) % shard.count == shard.index - 1)


def store_name(experiment_id: str, shard: Shard | None = None) -> str:
    """The name of a store's directory. UsageError for an id that can name none."""
    name = safe_experiment_id(experiment_id)
    return name if shard is None else safe_experiment_id(f"{name}.shard-{shard.index}-of-{shard.count}")


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
