"""A small run plan for checks of a back end: what a descriptor would say, without one. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from arci.isolation.base import RunPlan
from arci.model.manifest import MANIFEST_FORMAT, Manifest

__all__ = ["BANK", "SERVERS", "SHOP", "conformance_plan"]

SHOP, BANK = "shop", "bank"


def _server(name: str, snapshot: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"name": name, "argv": ["true"], "env": {}, "has_image": True, "snapshot": snapshot, "crash": "error"}


SERVERS: tuple[Mapping[str, Any], ...] = (_server(SHOP, {"kind": "files", "paths": ["**"]}), _server(BANK, None))
"""Two servers in containers of their own; the files of the first are read after its end."""


def conformance_plan(
    backend: str,
    *,
    workers: int = 2,
    root: str = "/",
    image_refs: Mapping[str, str] | None = None,
    isolation: Mapping[str, Any] | None = None,
    servers: Sequence[Mapping[str, Any]] = SERVERS,
) -> RunPlan:
    """A plan whose limits are small enough to be hit in a moment. `isolation` changes single limits.

    `image_refs` may leave out the servers' images: then they run in the boundary's. Without `servers` the environment
    is a toolset.
    """
    limits = {
        "backend": backend,
        "runtime": None,
        "memory_bytes": 64 << 20,
        "cpus": None,
        "pids": 128,
        "disk_bytes": 16 << 20,
        "files": 1024,
        "user": None,
        "read_only": True,
        "caps": [],
        "platform": None,
        "fresh_namespace": False,
        "require_separate_images": False,
        "allow_unenforced": False,
        **(isolation or {}),
    }
    refs = dict(image_refs or {})
    if "boundary" in refs:
        refs = {**{f"server:{s['name']}": refs["boundary"] for s in servers if s["has_image"]}, **refs}
    volatile = {"root": root, "image_refs": refs}
    document = {**_document(limits, volatile), "environment": _environment(servers)}
    return RunPlan(str(uuid.uuid4()), Manifest.from_document(document), workers)


def _environment(servers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if servers:
        return {"kind": "mcp", "ref": None, "servers": list(servers), "is_single": False}
    return {"kind": "toolset", "ref": "world:make"}


def _arm(name: str) -> dict[str, Any]:
    return {
        "label": name,
        "kind": "command",
        "ref": None,
        "argv": ["true"],
        "env": {},
        "secret_env": {},
        "infra_exit_codes": [75],
        "source": ".",
    }


def _document(limits: Mapping[str, Any], volatile: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": MANIFEST_FORMAT,
        "experiment_id": "conformance",
        "tasks": [{"id": "task", "task": {}}],
        "contract": {
            "max_tool_calls": None,
            "forbidden_tools": [],
            "required_tools": [],
            "max_calls_per_tool": {},
            "hard": [],
        },
        "grader": {"kind": "python", "ref": "oracle:judge", "argv": []},
        "arms": {name: _arm(name) for name in ("baseline", "candidate")},
        "conditions": [{"id": "clean", "bucket": "clean", "is_gating": True, "faults": []}],
        "alpha": 0.05,
        "delta": 0.1,
        "n_per_arm": 1,
        "interval_method": "clopper_pearson",
        "looks": [],
        "on_error": "invalidate",
        "base_seed": 0,
        "budgets": {
            "max_tool_calls": 30,
            "max_model_steps": 50,
            "max_seconds": 30.0,
            "grader_seconds": 20.0,
            "setup_seconds": 120.0,
            "tool_seconds": 30.0,
        },
        "isolation": limits,
        "evidence": ["**"],
        "secrets": [],
        "prior_runs": [],
        "project_source": ".",
        "images": {},
        "runtime_sha256": "0" * 64,
        "volatile": volatile,
    }
