"""Why a call of a trial got no answer, in the words of `upstream_failed`. Pure data; its texts hold no secret."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CallFailed", "Failure"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One call that failed."""

    kind: str
    """`timeout`, `connect`, `protocol`, `too_large` (no usable answer), `refused`, `limit` (not sent)."""
    detail: str
    by_agent: bool = False
    """The agent asked for what it may not have; else the upstream, the network or the machine is to blame."""
    status: int | None = None
    """Of the last answer, where the upstream gave one that could not be handed on."""


class CallFailed(Exception):
    """Carries a failure to the one place that tells it. `may_resend`: it broke before anything was handed on."""

    def __init__(self, failure: Failure, *, may_resend: bool = False) -> None:
        super().__init__(f"{failure.kind}: {failure.detail}")
        self.failure = failure
        self.may_resend = may_resend
