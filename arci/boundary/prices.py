"""What tokens cost, by the prices of the descriptor: none are built in. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional

__all__ = ["cost_usd", "estimated_tokens"]

_BYTES_PER_TOKEN = 4


def cost_usd(
    prices: Mapping[str, Mapping[str, float]], models: tuple[Optional[str], ...], usage: Optional[Mapping[str, int]]
) -> Optional[float]:
    """USD, or None where usage or price is not known.

    `models`: the names to look a price up under, the first that has one counts, then `*`. Prices are USD per million
    tokens; what was read from a cache costs `cached_input`, or `input` where that is not given.
    """
    found = [prices[name] for name in (*models, "*") if name is not None and name in prices]
    if usage is None or not found:
        return None
    price = found[0]
    dear = price.get("input", 0.0)
    cached = min(usage["cached_input_tokens"], usage["input_tokens"])
    total = (usage["input_tokens"] - cached) * dear + cached * price.get("cached_input", dear)
    return (total + usage["output_tokens"] * price.get("output", 0.0)) / 1e6


def estimated_tokens(asked_bytes: int, said_bytes: int) -> dict[str, int]:
    """For a budget alone, where an answer tells no usage: a stream may end without, and must not be free."""
    counts = (asked_bytes // _BYTES_PER_TOKEN, said_bytes // _BYTES_PER_TOKEN, 0)
    return dict(zip(("input_tokens", "output_tokens", "cached_input_tokens"), counts))  # noqa: B905  # Python 3.9
