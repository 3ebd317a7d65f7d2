"""What goes into the engine and what comes out: plain values, so that a test says what it means. No effects here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple, Union

    Key = Tuple[str, int]
    Message = Union[
        "Control", "Opened", "Received", "Closed", "ListeningStopped", "EnvironmentSaid", "EnvironmentEnded", "Due"
    ]
    Action = Union["Listen", "StopListening", "Send", "Close", "Tell", "Ask", "Wake", "EndEnvironment", "Exit"]

__all__ = [
    "Ask",
    "Close",
    "Closed",
    "Control",
    "Due",
    "EndEnvironment",
    "EnvironmentEnded",
    "EnvironmentSaid",
    "Exit",
    "Listen",
    "ListeningStopped",
    "Opened",
    "Received",
    "Send",
    "StopListening",
    "Tell",
    "Wake",
]


class _Value:
    """Equal by type and content."""

    __slots__: Tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values):  # noqa: B905  # strict= came with Python 3.10
            setattr(self, name, value)

    def _content(self) -> Tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, _Value) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), repr(self._content())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._content()!r}"


# Messages: what happened.


class Control(_Value):
    """A frame of the host."""

    __slots__ = ("frame",)
    frame: Dict[str, Any]


class Opened(_Value):
    """A connection was accepted. `connection` is a number that is never used again."""

    __slots__ = ("connection",)
    connection: int


class Received(_Value):
    """Bytes of a connection, cut anywhere."""

    __slots__ = ("connection", "data")
    connection: int
    data: bytes


class Closed(_Value):
    """The other side ended the connection, or it broke."""

    __slots__ = ("connection",)
    connection: int


class ListeningStopped(_Value):
    """Every connection that had been made was accepted; no further one can come."""

    __slots__ = ()


class EnvironmentSaid(_Value):
    """Bytes of the environment's answers, cut anywhere."""

    __slots__ = ("data",)
    data: bytes


class EnvironmentEnded(_Value):
    """The environment is gone; `how` says in words with which exit status."""

    __slots__ = ("how",)
    how: str


class Due(_Value):
    """The time of a `Wake` has come."""

    __slots__ = ("key",)
    key: Key


# Actions: what is to be done.


class Listen(_Value):
    """Listen on this address (`unix:/path` or `tcp:HOST:PORT`)."""

    __slots__ = ("address",)
    address: str


class StopListening(_Value):
    """Accept what waits, listen no more, then say `ListeningStopped`."""

    __slots__ = ()


class Send(_Value):
    """Bytes for a connection."""

    __slots__ = ("connection", "data")
    connection: int
    data: bytes


class Close(_Value):
    """End a connection, after what was sent to it before."""

    __slots__ = ("connection",)
    connection: int


class Tell(_Value):
    """A frame for the host."""

    __slots__ = ("frame",)
    frame: Dict[str, Any]


class Ask(_Value):
    """Bytes for the environment."""

    __slots__ = ("data",)
    data: bytes


class Wake(_Value):
    """Say `Due(key)` at `at_s` on the clock that `handle` is given."""

    __slots__ = ("at_s", "key")
    key: Key
    at_s: float

    def __init__(self, key: Key, at_s: float) -> None:
        super().__init__(at_s, key)


class EndEnvironment(_Value):
    """Close the environment's input: nothing is asked of it any more."""

    __slots__ = ()


class Exit(_Value):
    """End the recorder with this code."""

    __slots__ = ("code",)
    code: int
