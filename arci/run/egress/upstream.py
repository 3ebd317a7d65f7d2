"""One upstream as the egress needs it, read from a manifest's `models` and `decisions`. Pure, frozen data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.run.egress.address import Address, parse_address

__all__ = ["Upstream", "declared_upstreams", "upstreams_of"]


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where requests of one name go, and within which limits."""

    name: str
    kind: str
    """`openai`, `anthropic` or `systemone`."""
    address: Address
    key: str | None
    """Name of the host's variable that holds the key; None for a call without one."""
    max_requests_per_minute: int
    concurrency: int
    """Calls under way at once, at most."""
    request_seconds: float
    """Until the head of an answer, and between any two pieces of it."""
    max_body_bytes: int
    max_calls: int | None
    """Calls of one trial; None where the budget is that of all models together."""


def declared_upstreams(
    models: Sequence[Mapping[str, Any]], decisions: Mapping[str, Any] | None
) -> list[tuple[str, Mapping[str, Any]]]:
    """What reaches out, as (dotted path in the descriptor, its entry). A decision fixture does not."""
    found = [(f"models.{model['name']}", model) for model in models]
    if decisions is not None and decisions["upstream"] == "http":
        found.append(("decisions", decisions))
    return found


def upstreams_of(models: Sequence[Mapping[str, Any]], decisions: Mapping[str, Any] | None) -> tuple[Upstream, ...]:
    """The upstreams of a manifest document. ValueError for a base URL that `parse_address` refuses."""
    return tuple(_upstream(entry) for _, entry in declared_upstreams(models, decisions))


def _upstream(entry: Mapping[str, Any]) -> Upstream:
    is_decision = "upstream" in entry
    return Upstream(
        name=entry["name"],
        kind="systemone" if is_decision else entry["kind"],
        address=parse_address(entry["base_url"]),
        key=entry["key"],
        max_requests_per_minute=entry["max_requests_per_minute"],
        concurrency=entry["concurrency"],
        request_seconds=float(entry["request_seconds"]),
        max_body_bytes=entry["max_body_bytes"],
        max_calls=entry["max_decisions"] if is_decision else None,
    )
