"""What a model fault decides about one call of a model. Data only: the boundary carries it out.

`ModelFault.meet` gives one action. `Postpone` and `Truncate` leave the call to go on; the others end it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from arci.faults.call import Call

    ModelAction = Union["Empty", "Malform", "Postpone", "Refuse", "Stall", "Truncate"]

__all__ = ["Empty", "Malform", "ModelFault", "Postpone", "Refuse", "Stall", "Truncate"]


class Stall:
    """No byte of an answer; after `after_ms` milliseconds the connection ends. The upstream is not called."""

    __slots__ = ("after_ms",)

    def __init__(self, after_ms: float) -> None:
        self.after_ms = after_ms

    def __repr__(self) -> str:
        return f"Stall({self.after_ms})"


class Refuse:
    """An HTTP error in the provider's own shape. The upstream is not called.

    `retry_after_s`: seconds of the `retry-after` header; None: without one.
    """

    __slots__ = ("retry_after_s", "status")

    def __init__(self, status: int, retry_after_s: Optional[float] = None) -> None:
        self.status = status
        self.retry_after_s = retry_after_s

    def __repr__(self) -> str:
        return f"Refuse({self.status}, {self.retry_after_s})"


class Postpone:
    """The call goes on `ms` milliseconds later."""

    __slots__ = ("ms",)

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __repr__(self) -> str:
        return f"Postpone({self.ms})"


class Truncate:
    """The real answer, cut: of a stream `keep_chunks` events (None: half) arrive, of any other answer half its bytes.
    The connection then ends without the end of the answer."""

    __slots__ = ("keep_chunks",)

    def __init__(self, keep_chunks: Optional[int]) -> None:
        self.keep_chunks = keep_chunks

    def __repr__(self) -> str:
        return f"Truncate({self.keep_chunks})"


class Malform:
    """Status 200 with a body that is no JSON. The upstream is not called."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Malform()"


class Empty:
    """Status 200 and a valid answer without content. The upstream is not called."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Empty()"


class ModelFault:
    """Always the same action."""

    __slots__ = ("_action",)

    def __init__(self, action: ModelAction) -> None:
        self._action = action

    def meet(self, call: Call, rng: Any) -> ModelAction:
        """What happens to the call. `call.tool` is `model:<upstream>`, `call.arguments` the body of the request."""
        return self._action
