"""Signs a sealed run: everything is re-checked, decided, named by digest, and the statement over it signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.errors import StoreError, UsageError
from arci.gate.decision import decision_bytes
from arci.model.canonical import canonical
from arci.sign.evidence import examine
from arci.sign.keys import private_key
from arci.sign.sshsig import fingerprint, public_line, sign
from arci.sign.statement import SIGNATURE, SIGNATURE_FORMAT, digests_of, signed_bytes, statement_of
from arci.store.files import Lock, replace_file
from arci.store.layout import DECISION, LOCK
from arci.store.reader import read_run

__all__ = ["Signed", "sign_run"]


@dataclass(frozen=True, slots=True)
class Signed:
    file: Path
    statement: Mapping[str, Any]
    fingerprint: str
    """Of the key, as `ssh-keygen -l` prints it."""


def sign_run(store: Path, key_file: Path, *, env: Mapping[str, str], at: str) -> Signed:
    """Writes `signature.json`, in the place of an earlier one. `at`: now, ISO 8601.

    UsageError for a key that cannot be used and a run that is under way; StoreError where anything does not hold.
    """
    key = private_key(key_file, env)
    read_run(store)  # StoreError for what is no store, before a lock is put there
    lock = Lock(store / LOCK)
    try:
        statement = _statement(store, at)
        document = {
            "format": SIGNATURE_FORMAT,
            "statement": statement,
            "public_key": public_line(key.public_key()),
            "signature": sign(key, signed_bytes(statement)),
        }
        replace_file(store / SIGNATURE, canonical(document) + b"\n")
    finally:
        lock.close()
    return Signed(store / SIGNATURE, statement, fingerprint(key.public_key()))


def _statement(store: Path, at: str) -> dict[str, Any]:
    stored = read_run(store)
    evidence = examine(stored)
    if evidence.problems:
        raise StoreError(f"{store}: is not signed, for it does not hold: {evidence.problems[0]}")
    assert stored.info is not None
    if stored.info["state"] == "running":
        raise UsageError(f"{store}: the run was cut short and is not sealed.", hint="arci run ... --resume ends it")
    if evidence.decision is not None:
        replace_file(store / DECISION, decision_bytes(evidence.decision))
    return statement_of(stored, evidence.decision, digests_of(store), at)
