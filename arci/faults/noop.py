"""`noop`: meets the call and changes nothing. A placebo, and the smallest fault to start a new one from."""

from __future__ import annotations

from arci.faults.action import Fault, Nothing
from arci.faults.settings import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from arci.faults.call import Call

__all__ = ["KIND"]


class Noop(Fault):
    __slots__ = ()

    def before(self, call: Call, rng: Any) -> Nothing:
        return Nothing()


KIND = Kind("noop", "changes nothing; counted like any other fault", lambda params: Noop())
