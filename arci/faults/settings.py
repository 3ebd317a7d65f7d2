"""What a fault may be told in `params`: each setting with its unit, default and range; and the check of them. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

    Hooks = Any  # what `make` gives: hooks of a tool's, a model's or a decision's fault

__all__ = ["DECISION", "MODEL", "TOOL", "Kind", "Setting", "byte_count", "count", "fraction", "milliseconds", "seconds"]

TOOL, MODEL, DECISION = "tool", "model", "decision"
"""What a kind of fault disturbs: calls of the environment's tools, of a model upstream, of the decision endpoint."""

_MOST_MS = 3_600_000
_MOST_BYTES = 8 * 1024 * 1024
_MOST_COUNT = 1_000_000


class Setting:
    """One entry of `params`. `allowed` completes the sentence "... is allowed"."""

    __slots__ = ("accepts", "allowed", "default", "name")

    def __init__(self, name: str, default: Any, allowed: str, accepts: Callable[[Any], bool]) -> None:
        self.name = name
        self.default = default
        self.allowed = allowed
        self.accepts = accepts


def milliseconds(name: str, default: float) -> Setting:
    """A duration: an int or float, 0 to one hour."""
    return Setting(name, default, f"a number of milliseconds from 0 to {_MOST_MS}", _is_milliseconds)


def byte_count(name: str, default: int) -> Setting:
    """A size: an int, 0 to 8 MiB."""
    return Setting(name, default, f"a whole number of bytes from 0 to {_MOST_BYTES}", _is_byte_count)


def seconds(name: str, default: float) -> Setting:
    """A duration: an int or float, 0 to one hour."""
    return Setting(name, default, f"a number of seconds from 0 to {_MOST_MS // 1000}", _is_seconds)


def count(name: str, default: Optional[int]) -> Setting:
    """A whole number, 0 to a million; None where the default is that none is given."""
    allowed = f"a whole number from 0 to {_MOST_COUNT}"
    return Setting(name, default, allowed, lambda value: (default is None and value is None) or _is_count(value))


def fraction(name: str, default: float) -> Setting:
    """An int or float, 0 to 1."""
    return Setting(name, default, "a number from 0 to 1", _is_fraction)


def _is_milliseconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_MS


def _is_byte_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_BYTES


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_seconds(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= _MOST_MS // 1000


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNT


def _is_fraction(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


class Kind:
    """A built-in kind of fault. Calling it with `params` lists what is wrong with them."""

    __slots__ = ("_make", "lasts", "name", "settings", "summary", "target")

    def __init__(
        self,
        name: str,
        summary: str,
        make: Callable[[Dict[str, Any]], Hooks],
        settings: Sequence[Setting] = (),
        *,
        target: str = TOOL,
        lasts: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary  # its effect, in one line
        self.settings = tuple(settings)
        self.target = target
        """`tool`, `model` or `decision`: what else it meets nothing of."""
        self.lasts = lasts
        """Once it has begun it does not end: `occurrence` n means n and later ones."""
        self._make = make

    @property
    def defaults(self) -> Dict[str, Any]:
        """Every setting with its default."""
        return {setting.name: setting.default for setting in self.settings}

    def __call__(self, params: Mapping[str, Any]) -> List[str]:
        """Every mistake in `params`, as `params.NAME: the value; what is allowed`; empty if there is none."""
        known = {setting.name: setting for setting in self.settings}
        problems = []
        for name, value in params.items():
            if name not in known:
                allowed = ", ".join(known) or "no params"
                problems.append(f"params.{name}: unknown; {self.name} takes {allowed}")
            elif not known[name].accepts(value):
                problems.append(f"params.{name}: {value!r}; {known[name].allowed} is allowed")
        return problems

    def make(self, params: Mapping[str, Any]) -> Hooks:
        """The fault itself, with defaults for what `params` leaves out. ValueError if `params` are wrong."""
        problems = self(params)
        if problems:
            raise ValueError(f"fault {self.name}: " + "; ".join(problems))
        return self._make({**self.defaults, **params})
