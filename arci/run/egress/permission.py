"""May this process call outside at all? Asked before anything is opened, and again before each call."""

from __future__ import annotations

from arci.errors import ArciError

__all__ = ["FORBIDDEN", "EgressForbidden", "check_permitted"]

FORBIDDEN: str | None = None
"""Why no outside call may be made by this process (tests without an upstream of their own); None where one may."""


class EgressForbidden(ArciError):
    """An outside call where none may be made: a mistake of ours, and nothing was opened."""


def check_permitted(forbidden: str | None = None) -> None:
    """Raises EgressForbidden where `forbidden` or this process's switch gives a reason."""
    reason = forbidden or FORBIDDEN
    if reason is not None:
        raise EgressForbidden(f"outside call: {reason}")
