"""What was probably meant by the name of a run or trial that is not there. Reads directories, for hints alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arci.store.layout import RUN

__all__ = ["run_hint", "trial_hint"]

_MOST = 5


def run_hint(directory: Path) -> str | None:
    """The runs beside a directory that is none; without any there, those in `runs`. None if there are none."""
    for place in (directory.parent, directory.parent / "runs"):
        try:
            runs = sorted(path.parent for path in place.glob(f"*/{RUN}"))
        except OSError:
            continue
        if runs:
            return f"there are {_listed(_nearest_first(str(directory), map(str, runs)))}"
    return None


def trial_hint(records: Iterable[Mapping[str, Any]], trial_id: str) -> str:
    """Ids of trials that are recorded, the nearest first, then in their order."""
    ids = sorted(record["trial_id"] for record in records if isinstance(record.get("trial_id"), str))
    if not ids:
        return "no trial is recorded there"
    return f"there are {_listed(_nearest_first(trial_id, ids))}"


def _nearest_first(name: str, names: Iterable[str]) -> list[str]:
    there = list(names)
    near = difflib.get_close_matches(name, there[:1000], n=1)
    return [*near, *(other for other in there if other not in near)]


def _listed(names: list[str]) -> str:
    rest = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {rest} more" if rest > 0 else "")
