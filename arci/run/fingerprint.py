"""The name of a kind of failure: equal for the same failure on another machine or back end. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["bad_tool", "fingerprint", "normalise", "telling_line"]

_LINE_CHARS = 200
_REPLACED = (
    (re.compile(r"0x[0-9a-fA-F]+"), "<hex>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<hex>"),
    (re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[\w.@+~-]*(?:[/\\][\w.@+~-]+)+[/\\]?"), "<path>"),
    (re.compile(r"\b(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}\b"), "<hex>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<n>"),
)
_TRACEBACK = "Traceback (most recent call last)"


def normalise(text: str) -> str:
    """The first non-empty line of `text` with paths, hexadecimal and numbers replaced; at most 200 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")[: 4 * _LINE_CHARS]
    for pattern, name in _REPLACED:
        line = pattern.sub(name, line)
    return line[:_LINE_CHARS]


def fingerprint(kind: str, *parts: str) -> str:
    """`kind|part|...`, empty parts left out."""
    return "|".join([kind, *(part for part in parts if part)])


def telling_line(stderr: str) -> str:
    """The line of a program's error output that names the failure: the last of a Python traceback, else the first."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if not lines:
        return ""
    return lines[-1] if any(line.startswith(_TRACEBACK) for line in lines) else lines[0]


def bad_tool(events: Iterable[Mapping[str, Any]]) -> str | None:
    """The first failed answer of a tool or model of a trial, as `tool error_kind fault` (of a model `model:NAME`);
    without one, the first that a fault met.

    A failed answer comes before a merely disturbed one: a fault that changed nothing (latency) does not name a failure.
    """
    disturbed: str | None = None
    for event in events:
        if event.get("kind") not in ("tool_finish", "model_finish"):
            continue
        asked = event.get("tool") if event["kind"] == "tool_finish" else f"model:{event.get('upstream')}"
        words = (asked, event.get("error_kind"), event.get("injected_by"))
        name = " ".join(str(word) for word in words if word)
        if not event.get("ok"):
            return name
        if event.get("injected_by") and disturbed is None:
            disturbed = name
    return disturbed
