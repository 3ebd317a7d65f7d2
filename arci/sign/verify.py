"""Verifies a signed run: the signature, its signer, every file, every seal, and that the decision follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from arci.errors import StoreError
from arci.gate.decision import decision_bytes
from arci.sign.evidence import examine
from arci.sign.keys import Allowed
from arci.sign.sshsig import fingerprint, key_blob, public_line, signer_of
from arci.sign.statement import SIGNATURE, SIGNATURE_FORMAT, digests_of, signed_bytes, statement_of
from arci.store.layout import DECISION
from arci.store.lines import read_object
from arci.store.reader import read_run

__all__ = ["Trusted", "Verified", "verify_run"]


@dataclass(frozen=True, slots=True)
class Trusted:
    """Who may have signed. With neither `key` nor `allowed`, anyone: then it is told who did, and that nobody asked."""

    key: Ed25519PublicKey | None = None
    allowed: Sequence[Allowed] | None = None
    signer: str | None = None
    """A principal of `allowed`; None: any of them."""

    @property
    def is_anyone(self) -> bool:
        return self.key is None and self.allowed is None

    def problem(self, key: Ed25519PublicKey) -> str | None:
        """What speaks against this key."""
        if self.key is not None and key_blob(key) != key_blob(self.key):
            return f"was made by {fingerprint(key)}, not by the given key {fingerprint(self.key)}"
        if self.allowed is None or any(one.fits(key) and self._is_asked_for(one) for one in self.allowed):
            return None
        who = "any allowed signer" if self.signer is None else repr(self.signer)
        return f"was made by {fingerprint(key)}, which is no key of {who}"

    def _is_asked_for(self, one: Allowed) -> bool:
        return self.signer is None or one.is_of(self.signer)


@dataclass(frozen=True, slots=True)
class Verified:
    problems: tuple[str, ...]
    """Everything that does not hold; none: it is the run that was signed, and its decision follows from it."""
    statement: Mapping[str, Any]
    """Empty where there is none that can be read."""
    fingerprint: str | None
    """Of the key that signed; None unless its signature holds."""


def verify_run(store: Path, trusted: Trusted) -> Verified:
    """Re-checks all of it, whatever is found first. StoreError only if there is no run store."""
    stored = read_run(store)
    statement, key, problems = _signature(store)
    if key is not None:  # what nobody signed states nothing
        wrong = trusted.problem(key)
        problems += [f"{SIGNATURE}: it {wrong}"] if wrong is not None else []
        problems += _changed_files(store, statement.get("files"))
    evidence = examine(stored)
    problems += evidence.problems
    if evidence.decision is not None:
        problems += _decision_problems(store, decision_bytes(evidence.decision))
    if key is not None and stored.info is not None:
        expected = statement_of(stored, evidence.decision, statement.get("files") or {}, statement.get("signed_at", ""))
        wrong_names = [name for name in sorted({*expected, *statement}) if expected.get(name) != statement.get(name)]
        problems += [f"{SIGNATURE}: it states another {name} than the run has" for name in wrong_names]
    return Verified(tuple(dict.fromkeys(problems)), statement, None if key is None else fingerprint(key))


def _signature(store: Path) -> tuple[Mapping[str, Any], Ed25519PublicKey | None, list[str]]:
    """The statement, and who signed it; None and the reason where nobody did."""
    try:
        document = read_object(store / SIGNATURE)
    except FileNotFoundError:
        return {}, None, [f"{SIGNATURE}: there is none: the run is not signed"]
    except (OSError, ValueError) as error:
        return {}, None, [f"{SIGNATURE}: cannot be read: {error}"]
    statement = document.get("statement")
    if document.get("format") != SIGNATURE_FORMAT or not isinstance(statement, dict):
        return {}, None, [f"{SIGNATURE}: format {document.get('format')!r}; {SIGNATURE_FORMAT!r} is read"]
    try:
        key = signer_of(str(document.get("signature")), signed_bytes(statement))
    except ValueError as error:
        return statement, None, [f"{SIGNATURE}: the signature {error}"]
    if document.get("public_key") != public_line(key) or len(document) != 4:
        return statement, None, [f"{SIGNATURE}: its public_key is not the one that signed, or something was added"]
    return statement, key, []


def _changed_files(store: Path, stated: Any) -> list[str]:
    if not isinstance(stated, dict):
        return [f"{SIGNATURE}: it names no files"]
    try:
        found = digests_of(store)
    except StoreError as error:
        return [str(error)]
    changed = [f"{name}: was changed after signing" for name in found if name in stated and stated[name] != found[name]]
    added = [f"{name}: was added after signing" for name in found if name not in stated]
    return [*changed, *added, *(f"{name}: was removed after signing" for name in stated if name not in found)]


def _decision_problems(store: Path, derived: bytes) -> list[str]:
    try:
        if (store / DECISION).read_bytes() == derived:
            return []
    except OSError as error:
        return [f"{DECISION}: {error.strerror or error}"]
    return [f"{DECISION}: is not the decision that follows from the records"]
