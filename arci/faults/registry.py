"""All built-in kinds of fault by name, for the host: its loader validates `params`, its pages list them.

`BUILTIN[name](params)` lists mistakes, `.defaults` and `.summary` document it, `.target` says what it disturbs,
`.make(params)` gives the hooks.
"""

from __future__ import annotations

from arci.faults.kinds import NAMES, kind, make_fault, target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

    from arci.faults.settings import Kind

__all__ = ["BUILTIN", "make_fault", "target_of"]

BUILTIN: Dict[str, Kind] = {name: kind(name) for name in NAMES}
