"""The members that a bundle may have: their names, and how large each kind may be. Pure.

Names are matched whole, so none is absolute, holds `..` or ends in a directory.
"""

from __future__ import annotations

import re
from hashlib import sha256

from arci.bundle.refusal import Bounds

__all__ = [
    "DISTRIBUTIONS",
    "DOCUMENT",
    "EVENTS",
    "MANIFEST",
    "RECORD",
    "SOURCE",
    "config_member",
    "layer_member",
    "log_member",
    "most_bytes",
]

DOCUMENT, MANIFEST, RECORD, EVENTS = "bundle.json", "manifest.json", "record.json", "events.jsonl"
SOURCE, DISTRIBUTIONS = "source.tar.zst", "distributions.json"

_LOG = re.compile(r"logs/[A-Za-z0-9_][A-Za-z0-9._-]{0,90}")
_CONFIG = re.compile(r"images/configs/[0-9a-f]{64}\.json")
_LAYER = re.compile(r"images/layers/[0-9a-f]{64}\.tar\.zst")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def most_bytes(name: str, bounds: Bounds) -> int | None:
    """How large the member of that name may be; None where a bundle has no such member."""
    fixed = {
        DOCUMENT: bounds.document_bytes,
        MANIFEST: bounds.json_bytes,
        RECORD: bounds.json_bytes,
        EVENTS: bounds.events_bytes,
        SOURCE: bounds.layer_bytes,
        DISTRIBUTIONS: bounds.json_bytes,
    }
    if name in fixed:
        return fixed[name]
    if _LOG.fullmatch(name):
        return bounds.log_bytes
    if _CONFIG.fullmatch(name):
        return bounds.document_bytes
    return bounds.layer_bytes if _LAYER.fullmatch(name) else None


def config_member(sha256_hex: str) -> str:
    """Of an image's configuration with that digest."""
    return f"images/configs/{sha256_hex}.json"


def layer_member(diff_id: str) -> str:
    """Of the layer with that diff id (64 hex digits, of the uncompressed tar)."""
    return f"images/layers/{diff_id}.tar.zst"


def log_member(role: str, stream: str) -> str:
    """Of one kept stream. A part of a digest keeps roles apart that differ in what a file name cannot hold."""
    mark = sha256(f"{role}\0{stream}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"logs/{_UNSAFE.sub('_', role)[:40]}.{_UNSAFE.sub('_', stream)[:20]}.{mark}"
