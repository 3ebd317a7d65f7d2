"""The built-in kinds of fault, each loaded when it is asked for: a trial has few of them, a guest pays for each import.

The boundary makes its faults here; the host, which wants them all, reads `registry.BUILTIN`.
"""

from __future__ import annotations

import sys

from arci.faults.settings import TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping

    from arci.faults.settings import Hooks, Kind

__all__ = ["NAMES", "kind", "make_fault", "target_of"]

NAMES = (
    "noop",
    "tool_timeout",
    "tool_error_once",
    "empty_result",
    "lost_response",
    "latency",
    "malformed_result",
    "stale_result",
    "truncated_result",
    "model_timeout",
    "model_rate_limited",
    "model_error",
    "model_overloaded",
    "model_truncated_stream",
    "model_slow",
    "model_malformed",
    "model_empty",
    "decision_low_confidence",
    "decision_unavailable",
)
"""Each is a module of this package, with its `KIND`; `noop` always first."""


def kind(name: str) -> Kind:
    """One of `NAMES`."""
    module = f"arci.faults.{name}"
    __import__(module)
    found: Kind = sys.modules[module].KIND
    return found


def target_of(name: str) -> str:
    """What the fault `name` disturbs: `tool`, `model` or `decision`. A custom fault disturbs tools."""
    return kind(name).target if name in NAMES else TOOL


def make_fault(name: str, params: Mapping[str, Any], load: Callable[[str], Any]) -> Hooks:
    """The fault `name`: a built-in, or `module:function`, a factory `(params: dict) -> object with before and after`.

    `load` turns such a reference into the factory. ValueError, naming the fault, if the name is unknown, the params
    are wrong, the factory cannot be loaded or raises, or its object lacks a hook.
    """
    if name in NAMES:
        return kind(name).make(params)
    if ":" not in name:
        raise ValueError(f"fault {name!r}: unknown; one of {', '.join(NAMES)}, or module:function, is allowed")
    try:
        fault = load(name)(dict(params))
    except Exception as error:
        raise ValueError(f"fault {name}: {type(error).__name__}: {error}") from error
    for hook in ("before", "after"):
        if not callable(getattr(fault, hook, None)):
            raise ValueError(f"fault {name}: its {type(fault).__name__} has no method {hook!r}")
    return fault
