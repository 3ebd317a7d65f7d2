"""`arci` with other deadlines than its own: for tests in which every one of them is waited for, or none may pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import e2e
import halting
import pytest

__all__ = ["hasty"]


@contextmanager
def hasty(module: str, deadlines_s: Mapping[str, float]) -> Iterator[None]:
    """Each `arci` that is started within has these values in `arci.<module>`. KeyError for a name that is not there."""
    place = f"arci.{module}"
    told = f"import {place}; from sys import modules as m; v = vars(m[{place!r}])\n"
    told += "".join(f"v[{name!r}]; v[{name!r}] = {value}\n" for name, value in deadlines_s.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e2e, "_CLEAN", told + e2e._CLEAN)
        patch.setattr(halting, "_PROGRAM", told + halting._PROGRAM)
        yield
