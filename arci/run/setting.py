"""What holds for every trial of a run, as the choreography needs it. Frozen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arci.model.manifest import Manifest
from arci.run.gate import Gate
from arci.run.masking import Masks
from arci.run.witness import SEES_NOTHING, Masked, Witness

if TYPE_CHECKING:
    from arci.run.egress.egress import Egress
    from arci.run.replay import Replay

__all__ = ["Setting", "iso", "make_setting", "utc_now"]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Setting:
    manifest: Manifest
    host_env: Mapping[str, str]
    """The host's environment: declared secrets and the keys of upstreams are taken from it, nothing else."""
    masks: Masks
    now: Callable[[], datetime]
    """Wall clock of the records; deadlines have a monotonic clock of their own."""
    witness: Witness = SEES_NOTHING
    """Who watches the trials; what it sees is masked already."""
    egress: Egress | None = None
    """The way out; None: no trial may ask anything outside (a replay, or nothing is declared)."""
    gate: Gate = field(default_factory=Gate)
    """How many pods may be started or ended at once."""
    replay: Replay | None = None
    """The recorded trial that stands in for environment and upstreams."""


def make_setting(
    manifest: Manifest,
    host_env: Mapping[str, str],
    now: Callable[[], datetime] = utc_now,
    witness: Witness | None = None,
) -> Setting:
    """The setting of a run of `manifest` on this host. Nothing can be called outside yet (`outside.with_egress`)."""
    keys = [model.key for model in manifest.models] + [manifest.decisions.key if manifest.decisions else None]
    named = dict.fromkeys([*manifest.secrets, *(key for key in keys if key is not None)])
    masks = Masks({name: host_env[name] for name in named if host_env.get(name)})
    return Setting(manifest, host_env, masks, now, SEES_NOTHING if witness is None else Masked(witness, masks))


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
