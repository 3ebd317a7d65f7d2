"""The manifest document: sealed from a descriptor, written, and read back with its seal verified."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arci.errors import Problem, SpecError
from arci.manifest.descriptor import Descriptor, read_file
from arci.manifest.strict_json import parse_json
from arci.model.manifest import MANIFEST_FORMAT, Manifest, manifest_sha256
from arci.model.trial import ARMS

__all__ = ["is_manifest", "load_manifest", "seal"]

_MAX_BYTES = 256 << 20
_MAX_DEPTH = 80
"""A task is at most 64 deep, and stands a few levels down."""


def seal(
    descriptor: Descriptor,
    *,
    images: Mapping[str, Any],
    runtime_sha256: str,
    volatile: Mapping[str, Any] | None = None,
    prior_runs: Sequence[Any] = (),
) -> dict[str, Any]:
    """The manifest document, with `record_sha256` as its seal.

    `images`: identities, as `arci.model.manifest` names them. `volatile` is kept and not sealed; the descriptor's
    directory is added to it as `root`. `prior_runs` come after the descriptor's own.
    """
    document = {
        "format": MANIFEST_FORMAT,
        **descriptor.document,
        "prior_runs": [*descriptor.document["prior_runs"], *prior_runs],
        "images": dict(images),
        "runtime_sha256": runtime_sha256,
        "volatile": {"root": str(descriptor.root), **(volatile or {})},
    }
    return {**document, "record_sha256": manifest_sha256(document)}


def is_manifest(path: str | Path) -> bool:
    """True if the file is a sealed manifest and not a descriptor. SpecError where it cannot be read."""
    data = read_file(path, _MAX_BYTES)
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return False
    try:
        value = parse_json(data, max_depth=_MAX_DEPTH)
    except ValueError:
        # A descriptor in YAML's flow style also begins with a brace; a damaged manifest still has its format in it.
        return b'"format":"arci.manifest/' in data.replace(b" ", b"")
    return isinstance(value, dict) and str(value.get("format", "")).startswith("arci.manifest/")


def load_manifest(path: str | Path) -> dict[str, Any]:
    """The document of a sealed manifest. SpecError where it cannot be read, is malformed, or its seal does not hold."""
    data = read_file(path, _MAX_BYTES)
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError(f"is longer than {_MAX_BYTES} bytes; that many are allowed.")
        return _verified(parse_json(data, max_depth=_MAX_DEPTH))
    except ValueError as error:
        raise SpecError([Problem(str(path), "", str(error))]) from None


def _verified(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object; a sealed manifest is one.")
    if document.get("format") != MANIFEST_FORMAT:
        raise ValueError(f"format is {document.get('format')!r}; this version reads {MANIFEST_FORMAT!r}.")
    sealed, actual = document.get("record_sha256"), manifest_sha256(document)
    if sealed != actual:
        raise ValueError(f"the seal does not hold: record_sha256 is {sealed!r}, the content's digest is {actual!r}.")
    _check_types(document)
    return document


def _check_types(document: Mapping[str, Any]) -> None:
    """A manifest that was sealed by other hands holds its digest and may still be nonsense."""
    from pydantic import TypeAdapter, ValidationError

    try:
        manifest = Manifest.from_document(document)
        TypeAdapter(Manifest).validate_json(json.dumps(dataclasses.asdict(manifest)), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where}: {first['msg']}; a manifest that arci seal wrote is required.") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is malformed ({error!r}); a manifest that arci seal wrote is required.") from None
    if not manifest.tasks or not manifest.conditions or manifest.n_per_arm < 1 or set(manifest.arms) != set(ARMS):
        raise ValueError("plans no trial; tasks, conditions, both arms and n_per_arm of 1 or more are required.")
