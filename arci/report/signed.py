"""What the verification of a signed run tells. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arci.sign.verify import Trusted, Verified

__all__ = ["verified_document", "verified_text"]

_NOBODY_ASKED = "who signed was not asked for: anybody's signature would do (--key or --signers asks)"


def verified_document(found: Verified, trusted: Trusted) -> dict[str, Any]:
    """`holds`, `problems`, `fingerprint`, `signer_checked`, and the statement that was signed."""
    return {
        "holds": not found.problems,
        "problems": list(found.problems),
        "fingerprint": found.fingerprint,
        "signer_checked": not trusted.is_anyone,
        "statement": dict(found.statement),
    }


def verified_text(found: Verified, trusted: Trusted) -> str:
    """Lines for people."""
    lines = [f"does not hold: {problem}" for problem in found.problems]
    if not found.problems:
        told = found.statement
        lines.append(f"holds: {told['records']} records, verdict {told['verdict']}, signed {told['signed_at']}")
    if found.fingerprint is not None:
        lines.append(f"signed by {found.fingerprint}")
        lines += [f"note: {_NOBODY_ASKED}"] if trusted.is_anyone else []
    return "\n".join(lines) + "\n"
