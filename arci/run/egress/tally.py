"""What a run, and each trial of it, asked of an upstream: counted on the host, whatever the boundary counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally:
    """Counts of one upstream."""

    requests: int = 0
    """Admitted from trials; one that is sent again counts once."""
    sent: int = 0
    """Over the network, resends included."""
    resends: int = 0
    throttled: int = 0
    """Answers 429 and 529."""
    refused: int = 0
    """Never sent: no such route, too large, over a budget."""
    cancelled: int = 0
    """Given up because the agent hung up or its trial ended."""
    failed: dict[str, int] = field(default_factory=dict)
    """Kind of failure -> calls that got no usable answer."""
    waited_s: float = 0.0
    """Until requests could go out: pacing, `retry-after` and backing off; summed over calls."""
    answered_s: float = 0.0
    """From sending to the end of the answer; summed over calls that were answered."""
    received_bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        """For the report; seconds to the millisecond."""
        facts = asdict(self)
        return facts | {name: round(facts[name], 3) for name in ("waited_s", "answered_s")}
