"""What the models of a descriptor have in common: strictness, and values with a short and a long form. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Discriminator

__all__ = ["EITHER", "LONG", "SHORT", "STRICT"]

SHORT, LONG = "<short>", "<long>"
"""Tags of the two forms of a value. They stand in pydantic's locations, and cannot be keys of a model."""
STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)
"""Unknown keys are errors, nothing is coerced, nothing changes afterwards."""


def _form(value: Any) -> str:
    return LONG if isinstance(value, (dict, list, BaseModel)) else SHORT


EITHER = Discriminator(_form)
"""Tells the short form of a value from the long one."""
