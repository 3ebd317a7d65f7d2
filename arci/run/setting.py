"""What holds for every trial of a run, as the choreography needs it. Frozen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from arci.model.manifest import Manifest
from arci.run.masking import Masks
from arci.run.witness import SEES_NOTHING, Masked, Witness

__all__ = ["Setting", "iso", "make_setting", "utc_now"]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Setting:
    manifest: Manifest
    host_env: Mapping[str, str]
    """The host's environment: declared secrets are taken from it, nothing else."""
    masks: Masks
    now: Callable[[], datetime]
    """Wall clock of the records; deadlines have a monotonic clock of their own."""
    witness: Witness = SEES_NOTHING
    """Who watches the trials; what it sees is masked already."""


def make_setting(
    manifest: Manifest,
    host_env: Mapping[str, str],
    now: Callable[[], datetime] = utc_now,
    witness: Witness | None = None,
) -> Setting:
    """The setting of a run of `manifest` on this host."""
    masks = Masks({name: host_env[name] for name in manifest.secrets if host_env.get(name)})
    return Setting(manifest, host_env, masks, now, SEES_NOTHING if witness is None else Masked(witness, masks))


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
