"""What an image *is*, whichever engine holds it: a digest over layers, platform and what its configuration does. Pure.

An engine's own image id is no such thing: one store names the configuration, another the manifest, a third an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arci.model.canonical import digest

__all__ = ["image_identity", "image_platform"]

_USUAL_VARIANTS = {"arm64": "v8", "arm": "v7"}
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def image_identity(inspect: Mapping[str, Any]) -> dict[str, str]:
    """From the engine's `GET /images/{id}/json`: `sha256` over all of it, and the parts a person may compare.

    Equal on every engine and after save and load: empty and null are alike, labels, names and times are left out.
    """
    parts = {
        "platform": image_platform(inspect),
        "layers_sha256": digest(list((inspect.get("RootFS") or {}).get("Layers") or ())),
        "config_sha256": digest(_behaviour(inspect.get("Config") or {})),
    }
    return {"sha256": digest(parts), **parts}


def image_platform(inspect: Mapping[str, Any]) -> str:
    """`os/architecture[/variant]`, without the variant that goes without saying."""
    return normal_platform(f"{inspect.get('Os')}/{inspect.get('Architecture')}/{inspect.get('Variant') or ''}")


def normal_platform(text: str) -> str:
    """`linux/arm64/v8` -> `linux/arm64`; `linux/x86_64` -> `linux/amd64`. Pure."""
    system, _, rest = text.lower().partition("/")
    machine, _, variant = rest.partition("/")
    machine = _MACHINES.get(machine, machine)
    if not variant or variant == _USUAL_VARIANTS.get(machine):
        return f"{system}/{machine}"
    return f"{system}/{machine}/{variant}"


def _behaviour(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ArgsEscaped": bool(config.get("ArgsEscaped")),
        "Cmd": list(config.get("Cmd") or ()),
        "Entrypoint": list(config.get("Entrypoint") or ()),
        "Env": list(config.get("Env") or ()),
        "Shell": list(config.get("Shell") or ()),
        "StopSignal": config.get("StopSignal") or "",
        "User": config.get("User") or "",
        "Volumes": sorted(config.get("Volumes") or ()),
        "WorkingDir": config.get("WorkingDir") or "/",
    }
