"""Earlier runs of the same experiment beside each other: `<id>`, and `<id>.1`, `<id>.2`, ... that `--force` kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arci.errors import UsageError
from arci.store.files import Lock, naming, sync_directory
from arci.store.layout import DECISION, LOCK, MANIFEST, safe_experiment_id
from arci.store.lines import read_object

__all__ = ["prior_runs", "refuse_existing", "set_aside"]


def prior_runs(out_dir: Path, experiment_id: str) -> list[dict[str, Any]]:
    """What a manifest lists of the runs that a forced one leaves behind, oldest first, before it is sealed.

    Each has `store` (directory name that it has once the next one exists), `manifest_sha256` and `verdict`, null where
    they cannot be read.
    """
    home = out_dir / safe_experiment_id(experiment_id)
    stores = [(path.name, path) for path in _kept(home)]
    if home.is_dir():
        stores.append((_next_name(home).name, home))
    return [{"store": name, **_facts(path)} for name, path in stores]


def refuse_existing(home: Path) -> None:
    """UsageError with the choices if there is something at `home`."""
    if home.exists() or home.is_symlink():
        raise UsageError(
            f"{home}: a run of this experiment is there already; nothing was changed.",
            hint=f"--resume continues it, another experiment_id keeps both apart, --force keeps the old one as "
            f"{_next_name(home).name}",
        )


def set_aside(home: Path) -> Path | None:
    """Renames an existing store to its next free number; None if there is none. StoreError if it is being written."""
    if not home.exists():
        return None
    lock = Lock(home / LOCK) if home.is_dir() else None
    kept = _next_name(home)
    try:
        with naming(home):
            home.rename(kept)
    finally:
        if lock is not None:
            lock.close()
    sync_directory(home.parent)
    return kept


def _kept(home: Path) -> list[Path]:
    """The numbered neighbours that hold a run of this experiment, by number (`x.1` may be another experiment's id)."""
    found = []
    for path in home.parent.glob(f"{home.name}.*"):
        number = path.name[len(home.name) + 1 :]
        if number.isascii() and number.isdigit() and _read(path / MANIFEST).get("experiment_id") == home.name:
            found.append((int(number), path))
    return [path for _, path in sorted(found)]


def _next_name(home: Path) -> Path:
    number = 1
    while (path := home.with_name(f"{home.name}.{number}")).exists():
        number += 1
    return path


def _facts(store: Path) -> dict[str, Any]:
    seal, verdict = _read(store / MANIFEST).get("record_sha256"), _read(store / DECISION).get("verdict")
    return {
        "manifest_sha256": seal if isinstance(seal, str) else None,
        "verdict": verdict if isinstance(verdict, str) else None,
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_object(path)
    except (OSError, ValueError):
        return {}
