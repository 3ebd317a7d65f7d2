"""Which answers are asked for again, how often, and after how long. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_WAIT_S", "MOST_RESENDS", "RESENT", "THROTTLES", "backoff_s", "retry_after_s"]

RESENT = frozenset({408, 429, 500, 502, 503, 529})
"""Statuses that say nothing of the request and often pass."""
THROTTLES = frozenset({429, 529})
"""Statuses that say `too much`."""
MOST_RESENDS = 3
LONGEST_WAIT_S = 60.0
"""An upstream that asks for more patience than this is not to be had."""

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def backoff_s(resend: int) -> float:
    """How long to wait before resend number 0, 1, 2: half a second, doubled each time. No jitter: pacing spreads."""
    return float(0.5 * 2**resend)


def retry_after_s(headers: Iterable[tuple[str, str]], wall_s: float) -> float | None:
    """What `retry-after-ms` or `retry-after` (seconds, or a date compared with `wall_s`) asks for; None without one.

    Never negative; what cannot be read counts as absent.
    """
    said = {name: value.strip() for name, value in headers if name in ("retry-after", "retry-after-ms")}
    if _SECONDS.fullmatch(said.get("retry-after-ms", "")):
        return float(said["retry-after-ms"]) / 1000
    value = said.get("retry-after", "")
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        return max(0.0, math.ceil(parsedate_to_datetime(value).timestamp() - wall_s))
    except (ValueError, OverflowError, OSError):
        return None
