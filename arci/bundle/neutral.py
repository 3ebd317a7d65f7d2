"""What a replay makes of a bundle's manifest: its own hardening, none of the bundle's wishes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from arci.manifest.fields import size_bytes
from arci.manifest.shape import IsolationShape
from arci.model.manifest import Arm, Isolation, Manifest

__all__ = ["neutralised", "own_isolation"]


def own_isolation(backend: str) -> Isolation:
    """What a descriptor gets that says nothing of its isolation."""
    shape = IsolationShape()
    named: dict[str, Any] = {f.name: getattr(shape, f.name, None) for f in fields(Isolation)}
    sizes = {"memory_bytes": size_bytes(shape.memory), "disk_bytes": size_bytes(shape.disk)}
    return Isolation(**{**named, **sizes, "backend": backend, "caps": ()})


def neutralised(
    manifest: Manifest, *, own: Isolation | None = None, volatile: Mapping[str, Any] | None = None
) -> Manifest:
    """The manifest to replay with: capabilities, runtime, user, root file system and platform are those of `own`
    (default: of a descriptor that says nothing); limits are the smaller of the two, so that an agent which ran out of
    memory still does.

    No variable of this host is given to an agent: where it had a secret, it gets the text that replaced the secret in
    the record, so that its calls read as recorded. `volatile` replaces the bundle's (`root`, `image_refs`).
    """
    own = own or own_isolation(manifest.isolation.backend)
    return replace(
        manifest,
        isolation=_limited(manifest.isolation, own),
        arms={name: _without_secrets(arm) for name, arm in manifest.arms.items()},
        secrets=(),
        volatile=dict(volatile or {}),
    )


def _limited(wished: Isolation, own: Isolation) -> Isolation:
    cpus = [c for c in (wished.cpus, own.cpus) if c is not None and c > 0]
    limits = ("memory_bytes", "pids", "disk_bytes", "files")
    smaller = {name: min(getattr(wished, name), getattr(own, name)) for name in limits}
    return replace(own, cpus=min(cpus, default=None), **{k: max(v, 1) for k, v in smaller.items()})


def _without_secrets(arm: Arm) -> Arm:
    placeholders = {variable: f"<secret:{name}>" for variable, name in arm.secret_env.items()}
    return replace(arm, env={**arm.env, **placeholders}, secret_env={})
