"""Rules across keys: arms, images, isolation, secrets. Pure, and as tolerant of wrong types as `rules`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from arci.manifest.complaints import show
from arci.manifest.fields import size_bytes
from arci.manifest.rules import items, mapping, repeated
from arci.manifest.source import Finding, closest
from arci.manifest.strict_yaml import Path
from arci.model.trial import ARMS

__all__ = ["place_findings", "secret_name"]

_SECRET = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LEAST_MEMORY = 16 << 20
_CAPS = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "IPC_LOCK",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
        "SYS_NICE",
    ]
)
"""Capabilities that may be added back. The others (NET_ADMIN, SYS_ADMIN, ...) would open the pod or change its host."""


def place_findings(data: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything wrong in where things run. `data` is without the keys that come later, `given` still has them."""
    secrets = [name for name in items(data, "secrets") if isinstance(name, str)]
    for arm in ARMS:
        yield from _arm(mapping(given, arm), (arm,), secrets)
    yield from _images(data)
    yield from _isolation(mapping(data, "isolation"))


def secret_name(value: str) -> str | None:
    """NAME of `${NAME}`, else None."""
    match = _SECRET.fullmatch(value)
    return match[1] if match else None


def _arm(arm: Mapping[str, Any], path: Path, secrets: list[str]) -> Iterator[Finding]:
    if not arm:
        return
    ways = [key for key in ("agent", "command") if arm.get(key) is not None]
    if not ways:
        yield Finding((*path, "agent"), "is missing; agent: module:function is required, or command.")
    elif len(ways) > 1:
        yield Finding((*path, "command"), "stands beside agent; exactly one of them is allowed.")
    if arm.get("image") is not None and arm.get("context") is not None:
        yield Finding((*path, "context"), "stands beside image; exactly one of them is allowed.")
    for place in (path, (*path, "command")):
        for name, value in mapping(arm if place == path else mapping(arm, "command"), "env").items():
            yield from _variable(name, value, (*place, "env", name), secrets)


def _variable(name: str, value: Any, path: Path, secrets: list[str]) -> Iterator[Finding]:
    if name.startswith("ARCI_"):
        yield Finding(path, f"{show(name)} is ARCI's own to set; another name.")
    if not isinstance(value, str):
        return
    if "\0" in value:
        yield Finding(path, "holds a NUL character; text without one is allowed.")
    secret = secret_name(value)
    if secret is None and "${" in value:
        message = f"{show(value)} holds a ${{NAME}} within other text; ${{NAME}} alone, or text without it."
        yield Finding(path, message)
    elif secret is not None and secret not in secrets:
        hint = f"add {secret} to secrets." if closest(secret, secrets) is None else closest(secret, secrets)
        yield Finding(path, f"{show(secret)} is not declared; a name listed under secrets.", hint)


def _images(data: Mapping[str, Any]) -> Iterator[Finding]:
    images = mapping(data, "images")
    for role, image in images.items():
        if isinstance(image, dict) and (image.get("image") is None) == (image.get("build") is None):
            yield Finding(("images", role), "has both or neither of image and build; exactly one of them is required.")
    if mapping(data, "grader").get("image") is not None and images.get("grader") is not None:
        yield Finding(("grader", "image"), "stands beside images.grader; exactly one of them is allowed.")


def _isolation(isolation: Mapping[str, Any]) -> Iterator[Finding]:
    yield from repeated(items(isolation, "caps"), ("isolation", "caps"))
    for position, cap in enumerate(items(isolation, "caps")):
        if isinstance(cap, str) and cap not in _CAPS:
            message = f"{show(cap)} cannot be added back; allowed: {', '.join(sorted(_CAPS))}."
            yield Finding(("isolation", "caps", position), message, closest(cap, _CAPS))
    memory = isolation.get("memory")
    if isinstance(memory, str) and _bytes(memory) in range(1 << 20, _LEAST_MEMORY):
        yield Finding(("isolation", "memory"), f"{show(memory)} is too little to start anything; 16m or more.")


def _bytes(text: str) -> int:
    try:
        return size_bytes(text)
    except ValueError:
        return 0
