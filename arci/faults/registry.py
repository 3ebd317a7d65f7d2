"""The built-in kinds of fault by name. The host's loader validates `params` with it; the boundary makes faults from it.

`BUILTIN[name](params)` lists mistakes, `.defaults` and `.summary` document it, `.make(params)` gives the hooks.
"""

from __future__ import annotations

from arci.faults import (
    empty_result,
    latency,
    lost_response,
    malformed_result,
    noop,
    stale_result,
    tool_error_once,
    tool_timeout,
    truncated_result,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping

    from arci.faults.action import Fault
    from arci.faults.settings import Kind

__all__ = ["BUILTIN", "make_fault"]

BUILTIN: Dict[str, Kind] = {
    module.KIND.name: module.KIND
    for module in (
        noop,
        tool_timeout,
        tool_error_once,
        empty_result,
        lost_response,
        latency,
        malformed_result,
        stale_result,
        truncated_result,
    )
}


def make_fault(name: str, params: Mapping[str, Any], load: Callable[[str], Any]) -> Fault:
    """The fault `name`: a built-in, or `module:function`, a factory `(params: dict) -> object with before and after`.

    `load` turns such a reference into the factory. ValueError, naming the fault, if the name is unknown, the params
    are wrong, the factory cannot be loaded or raises, or its object lacks a hook.
    """
    if name in BUILTIN:
        return BUILTIN[name].make(params)
    if ":" not in name:
        raise ValueError(f"fault {name!r}: unknown; one of {', '.join(BUILTIN)}, or module:function, is allowed")
    try:
        fault = load(name)(dict(params))
    except Exception as error:
        raise ValueError(f"fault {name}: {type(error).__name__}: {error}") from error
    for hook in ("before", "after"):
        if not callable(getattr(fault, hook, None)):
            raise ValueError(f"fault {name}: its {type(fault).__name__} has no method {hook!r}")
    made: Fault = fault
    return made
