"""What a fault's hook decides about one call. Data only: the boundary carries it out.

A hook that does nothing returns None. Custom faults return these too:
`from arci.faults.action import Delay, Fail, Nothing, Replace`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from arci.faults.answer import Answer
    from arci.faults.call import Call

    Action = Union["Delay", "Fail", "Nothing", "Replace"]

__all__ = ["Delay", "Fail", "Fault", "Nothing", "Replace"]


class Nothing:
    """The fault met the call and changes nothing; counted as an injection."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Nothing()"


class Fail:
    """The agent is told that the call failed: from `before` it is not executed, from `after` its answer is lost.

    `kind`: `timeout` or `error`. `after_ms`: milliseconds until the agent is told.
    """

    __slots__ = ("after_ms", "detail", "kind")

    def __init__(self, kind: str, detail: str, after_ms: float = 0) -> None:
        if kind not in ("timeout", "error") or not after_ms >= 0:
            raise ValueError(f"Fail({kind!r}, ..., {after_ms!r}): kind is timeout or error, after_ms at least 0")
        self.kind = kind
        self.detail = detail
        self.after_ms = after_ms

    def __repr__(self) -> str:
        return f"Fail({self.kind!r}, {self.detail!r}, after_ms={self.after_ms})"


class Delay:
    """The answer is delivered `ms` milliseconds later. From `after` alone."""

    __slots__ = ("ms",)

    def __init__(self, ms: float) -> None:
        if not ms >= 0:
            raise ValueError(f"Delay({ms!r}): at least 0")
        self.ms = ms

    def __repr__(self) -> str:
        return f"Delay({self.ms})"


class Replace:
    """The agent gets `value` (JSON) in place of the tool's. From `after` alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Replace({self.value!r})"


class Fault:
    """The two hooks, both doing nothing. `rng` is seeded for this fault and call: the same in every repetition."""

    __slots__ = ()
    wants_earlier = False
    """Whether `call.earlier` is to be kept for it. A custom fault that does not say gets it."""

    def before(self, call: Call, rng: Any) -> Optional[Action]:
        """Before the tool is executed: None, `Nothing` or `Fail`."""
        return None

    def after(self, call: Call, answer: Answer, rng: Any) -> Optional[Action]:
        """After the tool was executed: None, `Nothing`, `Fail`, `Delay` or `Replace`."""
        return None
