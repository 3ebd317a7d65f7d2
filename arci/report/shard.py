"""What a shard's own run, and a merge, tell: counts and no verdict of a part. Pure."""

from __future__ import annotations

from typing import Any

from arci.store.run import StoredRun
from arci.store.shards import shard_of

__all__ = ["merged_document", "shard_document", "shard_text"]


def shard_document(stored: StoredRun) -> dict[str, Any]:
    """Of one shard: `shard`, `manifest_sha256`, `records`, `interrupted`, `state`."""
    info = stored.info or {}
    return {
        "shard": str(shard_of(info)),
        "manifest_sha256": info.get("manifest_sha256"),
        "records": len(stored.records),
        "interrupted": list(stored.interrupted),
        "state": info.get("state"),
    }


def shard_text(stored: StoredRun) -> str:
    """The same for people."""
    told = shard_document(stored)
    again = f", {len(told['interrupted'])} interrupted starts" if told["interrupted"] else ""
    return (
        f"shard {told['shard']}: {told['records']} trials recorded{again}; no verdict before `arci merge` has joined it"
    )


def merged_document(stored: StoredRun) -> dict[str, Any]:
    """Of a merged run: `manifest_sha256`, `records`, `interrupted`, and its `shards` as `run.json` holds them."""
    info = stored.info or {}
    return {
        "manifest_sha256": info.get("manifest_sha256"),
        "records": len(stored.records),
        "interrupted": list(stored.interrupted),
        "shards": info.get("shards"),
    }
