"""What a signature is over: a statement that names every file of a run store by digest. Reads, never writes."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

from arci.errors import StoreError
from arci.gate.decision import Decision
from arci.model.canonical import canonical
from arci.store.files import naming
from arci.store.layout import LOCK
from arci.store.run import StoredRun

__all__ = ["SIGNATURE", "SIGNATURE_FORMAT", "digests_of", "signed_bytes", "statement_of"]

SIGNATURE = "signature.json"
SIGNATURE_FORMAT = "arci.signature/1"
_NOT_SIGNED = frozenset({SIGNATURE, LOCK})
"""The signature itself, and a file that has no content."""


def statement_of(stored: StoredRun, decision: Decision | None, files: Mapping[str, str], at: str) -> dict[str, Any]:
    """`decision` is None for a shard. `files` as `digests_of` gives them; `at`: when, ISO 8601."""
    info = stored.info or {}
    return {
        "format": SIGNATURE_FORMAT,
        "experiment_id": info["experiment_id"],
        "manifest_sha256": info["manifest_sha256"],
        "run_id": info["run_id"],
        "records": info["records"],
        "last_record_sha256": info["last_record_sha256"],
        "verdict": decision.verdict.value if decision is not None else None,
        "files": dict(files),
        "signed_at": at,
    }


def signed_bytes(statement: Mapping[str, Any]) -> bytes:
    """The message of the signature: what `jq -cS .statement signature.json` prints."""
    return canonical(statement) + b"\n"


def digests_of(store: Path) -> dict[str, str]:
    """Path below the store -> SHA-256, of everything in it but the signature. StoreError for what is no plain file."""
    digests = {}
    for path in sorted(store.rglob("*")):
        name = path.relative_to(store).as_posix()
        if name in _NOT_SIGNED or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink() or not path.is_file():
            raise StoreError(f"{path}: is no plain file; only such belong into a run store")
        with naming(path), path.open("rb") as file:
            digests[name.encode("utf-8", "backslashreplace").decode()] = file_digest(file, "sha256").hexdigest()
    return digests
