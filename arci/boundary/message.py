"""What goes into the engine and what comes out: plain values, so that a test says what it means. No effects here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple, Union

    Key = Tuple[str, int]
    Message = Union[
        "Control",
        "Opened",
        "Received",
        "HalfClosed",
        "Closed",
        "Listening",
        "ListeningStopped",
        "Said",
        "Ended",
        "LaunchFailed",
        "Due",
    ]
    Action = Union[
        "Listen",
        "StopListening",
        "Send",
        "EndOutput",
        "Close",
        "Tell",
        "Launch",
        "Ask",
        "EndInput",
        "Signal",
        "Wake",
        "Exit",
    ]

__all__ = [
    "Ask",
    "Close",
    "Closed",
    "Control",
    "Due",
    "EndInput",
    "EndOutput",
    "Ended",
    "Exit",
    "HalfClosed",
    "Launch",
    "LaunchFailed",
    "Listen",
    "Listening",
    "ListeningStopped",
    "Opened",
    "Received",
    "Said",
    "Send",
    "Signal",
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


class HalfClosed(_Value):
    """The other side sends no more; it may still read."""

    __slots__ = ("connection",)
    connection: int


class Closed(_Value):
    """The other side ended the connection, or it broke."""

    __slots__ = ("connection",)
    connection: int


class Listening(_Value):
    """The addresses of `Listen` are listened on, each as it can be dialled."""

    __slots__ = ("addresses",)
    addresses: List[str]


class ListeningStopped(_Value):
    """Every connection that had been made was accepted; no further one can come."""

    __slots__ = ()


class Said(_Value):
    """Bytes of a process's stdout, cut anywhere. `process`: the name it was launched under; a toolset's is `tools`."""

    __slots__ = ("data", "process")
    process: str
    data: bytes

    def __init__(self, process: str, data: bytes) -> None:
        super().__init__(data, process)


class Ended(_Value):
    """A process is gone; `how` says in words with which exit status."""

    __slots__ = ("how", "process")
    process: str
    how: str

    def __init__(self, process: str, how: str) -> None:
        super().__init__(how, process)


class LaunchFailed(_Value):
    """A process was not started; `detail` names the step, its errno in words, and what it was about."""

    __slots__ = ("detail", "process")
    process: str
    detail: str

    def __init__(self, process: str, detail: str) -> None:
        super().__init__(detail, process)


class Due(_Value):
    """The time of a `Wake` has come."""

    __slots__ = ("key",)
    key: Key


# Actions: what is to be done.


class Listen(_Value):
    """Listen on these addresses (`unix:/path` or `tcp:HOST:PORT`), then say `Listening`."""

    __slots__ = ("addresses",)
    addresses: List[str]


class StopListening(_Value):
    """Accept what waits, listen no more, then say `ListeningStopped`."""

    __slots__ = ()


class Send(_Value):
    """Bytes for a connection."""

    __slots__ = ("connection", "data")
    connection: int
    data: bytes


class EndOutput(_Value):
    """Half-close a connection after what was sent to it before; what it sends is still read."""

    __slots__ = ("connection",)
    connection: int


class Close(_Value):
    """End a connection, after what was sent to it before."""

    __slots__ = ("connection",)
    connection: int


class Tell(_Value):
    """A frame for the host."""

    __slots__ = ("frame",)
    frame: Dict[str, Any]


class Launch(_Value):
    """Start a process under this name: `argv` in the directory `workdir`, which is made.

    `env` is all it gets. `file`: path and content that it finds there, or None. `number`: which of the environment's
    user ids it gets, where it has any; None: that of the owner of `workdir`. `input`: bytes for its stdin, which is
    then closed; None keeps it open for `Ask`.
    """

    __slots__ = ("argv", "env", "file", "input", "number", "process", "workdir")
    process: str
    argv: List[str]
    env: Dict[str, str]
    workdir: str
    file: Optional[Tuple[str, bytes]]
    number: Optional[int]
    input: Optional[bytes]

    def __init__(
        self,
        process: str,
        argv: List[str],
        env: Dict[str, str],
        workdir: str,
        *,
        file: Optional[Tuple[str, bytes]] = None,
        number: Optional[int] = None,
        input: Optional[bytes] = None,
    ) -> None:
        super().__init__(argv, env, file, input, number, process, workdir)


class Ask(_Value):
    """Bytes for a process's stdin."""

    __slots__ = ("data", "process")
    process: str
    data: bytes

    def __init__(self, process: str, data: bytes) -> None:
        super().__init__(data, process)


class EndInput(_Value):
    """Close a process's stdin, after what was asked before: nothing is asked of it any more."""

    __slots__ = ("process",)
    process: str


class Signal(_Value):
    """A signal for everything that a process has started; KILL also for everything else of its user id."""

    __slots__ = ("number", "process")
    process: str
    number: int

    def __init__(self, process: str, number: int) -> None:
        super().__init__(number, process)


class Wake(_Value):
    """Say `Due(key)` at `at_s` on the clock that `handle` is given."""

    __slots__ = ("at_s", "key")
    key: Key
    at_s: float

    def __init__(self, key: Key, at_s: float) -> None:
        super().__init__(at_s, key)


class Exit(_Value):
    """End the recorder with this code."""

    __slots__ = ("code",)
    code: int
