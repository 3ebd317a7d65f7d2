"""One hostile agent: what it claims to break, and the record that its trial must end in. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["NOTHING_REACHED", "AtLeast", "Claim"]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Stands, in `Claim.record`, for any number that is not below."""

    least: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the suite's table."""

    name: str
    breaks: str
    """What the agent tries, in one line."""
    program: str
    """`module:function` below `programs/agents`; of the shell's attacks, the name that the script knows."""
    outcome: str = "FAIL"
    """`PASS` where the agent does its task besides, and so does no harm: then the oracle has the word."""
    ending: str = "completed"
    record: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path into the record -> the value there (or `AtLeast`): the record shows what the agent did."""
    events: tuple[str, ...] = ()
    """Kinds of events that the recording must have."""
    is_hidden: bool = False
    """The host's marker secret must be nowhere in the store."""


NOTHING_REACHED: Mapping[str, Any] = {"agent.claim.reached": []}
"""The agent tells what it got hold of; it found nothing."""
