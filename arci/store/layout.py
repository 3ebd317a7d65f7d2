"""Names and formats of the files of a run store. Pure."""

from __future__ import annotations

import re
from hashlib import sha256

from arci.errors import UsageError

__all__ = [
    "DECISION",
    "EVENTS",
    "LOCK",
    "LOGS",
    "MANIFEST",
    "RUN",
    "RUN_FORMAT",
    "STATES",
    "TRIALS",
    "log_name",
    "safe_experiment_id",
]

MANIFEST, EVENTS, TRIALS, RUN, DECISION = "manifest.json", "events.jsonl", "trials.jsonl", "run.json", "decision.json"
LOGS, LOCK = "logs", "run.lock"
RUN_FORMAT = "arci.run/1"
STATES = ("running", "complete", "stopped")

_EXPERIMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def safe_experiment_id(experiment_id: object) -> str:
    """The id if it can name a directory on every file system; UsageError else. It is joined to the user's path."""
    if isinstance(experiment_id, str) and _EXPERIMENT_ID.fullmatch(experiment_id):
        return experiment_id
    raise UsageError(f"experiment_id: {experiment_id!r} cannot name a run; {_EXPERIMENT_ID.pattern} is allowed")


def log_name(trial_id: str, role: str, stream: str) -> str:
    """File name of one kept stream, below `logs/`: readable, at most 200 bytes, safe for any text.

    Trial ids contain `:`, may be long, and may differ in case alone: part of a digest of the whole keeps them apart.
    """
    mark = sha256("\0".join((trial_id, role, stream)).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _UNSAFE.sub("_", trial_id)[:120].lstrip(".-")
    return f"{readable}-{mark}.{_UNSAFE.sub('_', role)[:30]}.{_UNSAFE.sub('_', stream)[:30]}"
