"""What stands for an image under process isolation: source trees, distributions, interpreter. Reads, never writes."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from arci.manifest.context import context_files
from arci.model.canonical import digest

__all__ = ["distributions", "interpreter", "process_images", "source_identity"]


def process_images(root: Path, sources: dict[str, str]) -> dict[str, Any]:
    """The manifest's `images` for process isolation. `sources`: `baseline`, `candidate`, `project` -> directory
    relative to `root`, as `Descriptor.sources` has them. Raises OSError for a tree that cannot be read."""
    trees = {source: source_identity(root / source) for source in sorted(set(sources.values()))}
    named = {name: trees[source] for name, source in sources.items()}
    return {**named, "interpreter": interpreter(), "distributions": distributions()}


def source_identity(directory: str | Path) -> dict[str, Any]:
    """`sha256` over paths, contents and execute bits of a tree, and `files`, their number; links count as links.

    The same files give the same digest wherever they lie and whenever they were written.
    """
    entries = [_entry(relative, path) for relative, path in context_files(directory)]
    return {"sha256": digest(entries), "files": len(entries)}


def distributions() -> list[list[str]]:
    """[normalised name, version] of everything installed for this interpreter, sorted."""
    found = {_normalised(dist.name): dist.version for dist in metadata.distributions() if _is_whole(dist)}
    return [[name, version] for name, version in sorted(found.items())]


def interpreter() -> dict[str, str]:
    """The facts of this interpreter that change what Python code does."""
    return {
        "implementation": sys.implementation.name,
        "version": platform.python_version(),
        "system": sys.platform,
        "machine": platform.machine(),
    }


def _entry(relative: str, path: str) -> list[Any]:
    name = os.fsencode(relative).decode("utf-8", "backslashreplace")  # a name need not be UTF-8; a digest must be
    status = os.lstat(path)
    if os.path.islink(path):  # noqa: PTH114, beside lstat
        return [name, "link", os.fsencode(os.readlink(path)).decode("utf-8", "backslashreplace")]  # noqa: PTH115
    with open(path, "rb") as file:  # noqa: PTH123, names that pathlib would only wrap
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return [name, "executable" if status.st_mode & 0o100 else "file", content]


def _is_whole(dist: metadata.Distribution) -> bool:
    """A directory that a broken removal left behind has no name."""
    return bool(dist.metadata is not None and dist.metadata["Name"] and dist.metadata["Version"])


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
