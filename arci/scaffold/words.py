"""The small languages of the options of `arci init`: faults, tasks, snapshots, commands. Pure.

Each function reads one option; ValueError says what is wrong with the value and what is allowed.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Collection
from typing import Any

from arci.scaffold.answers import FaultPlan

__all__ = ["REFERENCE", "parse_command", "parse_fault", "parse_snapshot", "parse_task"]

REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
"""`module:function`, both perhaps with dots."""
_FROM = re.compile(r"(\d{1,9})\+")
_FAULT = "NAME[:TOOL[:OCCURRENCE]] is allowed, with an OCCURRENCE such as 0, 2+ (and later) or every."


def parse_fault(text: str, builtin: Collection[str]) -> FaultPlan:
    """`NAME[:TOOL[:OCCURRENCE]]`; NAME may be a `module:function` itself. `builtin`: names that ARCI has."""
    first, *rest = text.split(":")
    if first not in builtin:
        close = difflib.get_close_matches(first, builtin, 1, 0.75)
        if close or not rest:
            hint = f"{close[0]!r} is one; " if close else ""
            raise ValueError(f"{first!r} is no built-in fault; {hint}{', '.join(builtin)} or module:function.")
        first, rest = f"{first}:{rest[0]}", rest[1:]
    if len(rest) > 2 or (rest and not rest[0]):
        raise ValueError(f"{text!r}; {_FAULT}")
    tool = rest[0] if rest else None
    return FaultPlan(first, tool, _occurrence(rest[1]) if len(rest) == 2 else None)


def _occurrence(text: str) -> Any:
    if text == "every":
        return text
    if match := _FROM.fullmatch(text):
        return {"from": int(match[1])}
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise ValueError(f"{text!r} is no occurrence; {_FAULT}")


def parse_task(text: str) -> tuple[dict[str, Any], str | None]:
    """The task of a JSON object, or the file of `@FILE`."""
    if text.startswith("@"):
        if not text[1:]:
            raise ValueError("'@' names no file; @FILE or a JSON object is allowed.")
        return {}, text[1:]
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not JSON ({error}); a JSON object or @FILE is allowed.") from None
    if not isinstance(value, dict):
        raise ValueError(f"{text!r} is not an object; a JSON object or @FILE is allowed.")
    return value, None


def parse_snapshot(text: str) -> dict[str, Any]:
    """`tool:NAME`, `resource:URI` or `files:PATH[,PATH...]`, as the descriptor has it."""
    kind, _, rest = text.partition(":")
    if kind not in ("tool", "resource", "files") or not rest:
        raise ValueError(f"{text!r}; tool:NAME, resource:URI or files:PATH[,PATH...] is allowed.")
    return {kind: [path for path in rest.split(",") if path]} if kind == "files" else {kind: rest}


def parse_command(text: str) -> tuple[str, ...]:
    """Program and arguments, split as a shell splits them; nothing is expanded."""
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; a program and its arguments, quoted as for a shell.") from None
    if not argv or not argv[0]:
        raise ValueError("is empty; a program and its arguments are required.")
    return argv
