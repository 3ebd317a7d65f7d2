"""The source trees of a process run as one compressed tar: an index of paths, and each distinct content once.

No path is a name in the tar and no link is a link in it: both are text in the index, checked before anything is made.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from arci.bundle.packing import Packed, pack
from arci.bundle.refusal import Bounds, BundleError
from arci.bundle.tar import file_chunks, write_members
from arci.manifest.context import context_files
from arci.manifest.identity import source_identity
from arci.model.canonical import canonical
from arci.model.manifest import Manifest

__all__ = ["INDEX", "PackedSource", "Tree", "check_paths", "pack_source", "sources_of"]

INDEX = "tree.json"
"""First member: `{"files": {path: [sha256, is executable]}, "links": {path: target}}`."""


@dataclass(frozen=True, slots=True)
class PackedSource:
    packed: Packed
    root: str
    """Where the descriptor's directory lies in the tree, `.` at its top."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What the index says. Paths are relative, with forward slashes."""

    files: Mapping[str, tuple[str, bool]]
    links: Mapping[str, str]


def sources_of(manifest: Manifest) -> dict[str, str]:
    """Name of an identity in the manifest's `images` -> directory of its tree, relative to the descriptor's."""
    return {**{name: arm.source for name, arm in manifest.arms.items()}, "project": manifest.project_source}


def pack_source(manifest: Manifest, directory: Path, bounds: Bounds) -> PackedSource:
    """The trees as they are now, which must be what was sealed. `directory`: for the new files. BundleError else."""
    root = Path(manifest.volatile.get("root", "."))
    sources = sources_of(manifest)
    for name, source in sources.items():
        _hold_to_seal(manifest, name, root / source)
    top = Path(os.path.commonpath([os.path.normpath(root / source) for source in (".", *sources.values())]))
    files: dict[str, Path] = {}
    for source in sorted(set(sources.values())):
        where = Path(os.path.normpath(root / source))
        for relative, path in context_files(where):
            files[(where / relative).relative_to(top).as_posix()] = Path(path)
    tree, contents = _read_tree(files)
    check_paths(tree)
    out = directory / "source.tar"
    with out.open("xb") as tar:
        write_members(tar, _members(tree, contents))
    try:
        packed = pack(file_chunks(out), directory / "source.tar.zst", most_bytes=bounds.source_bytes)
    finally:
        out.unlink()
    return PackedSource(packed, Path(os.path.normpath(root)).relative_to(top).as_posix())


def check_paths(tree: Tree) -> None:
    """Nothing absolute, nothing that climbs, nothing below a file or link; and no link that leaves the tree. Pure."""
    named = [*tree.files, *tree.links]
    taken = set(named)
    if len(taken) != len(named):
        raise BundleError("source tree: a path is a file and a link at once.")
    for path in named:
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") or len(part) > 255 for part in parts):
            raise BundleError(f"source tree: path {path[:200]!r}; a plain relative path is allowed.")
        if any("/".join(parts[:n]) in taken for n in range(1, len(parts))):
            raise BundleError(f"source tree: path {path[:200]!r} lies below a file or a link.")
    for path, target in tree.links.items():
        if not _stays_inside(path, target):
            raise BundleError(f"source tree: link {path[:200]!r} leaves the tree; links within it are allowed.")


def _stays_inside(path: str, target: str) -> bool:
    """`..` at the start of the target alone, where it climbs real directories: after a name it might follow a link."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = next((n for n, part in enumerate(parts) if part != ".."), len(parts))
    is_plain = bool(target) and not target.startswith("/") and "\0" not in target and ".." not in parts[climbs:]
    return is_plain and climbs <= path.count("/")


def _hold_to_seal(manifest: Manifest, name: str, where: Path) -> None:
    try:
        found = source_identity(where)["sha256"]
    except OSError as error:
        raise BundleError(f"images.{name}: {where} cannot be read: {error.strerror or error}.") from None
    if found != manifest.images[name]["sha256"]:
        raise BundleError(
            f"images.{name}: {where} is not what was sealed; the sources that ran are required.",
            hint="check out the revision that was run",
        )


def _read_tree(files: Mapping[str, Path]) -> tuple[Tree, dict[str, Path]]:
    """The index, and for each distinct content a file that has it."""
    found: dict[str, tuple[str, bool]] = {}
    links: dict[str, str] = {}
    contents: dict[str, Path] = {}
    for name, path in sorted(files.items()):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            links[name] = os.readlink(path)  # noqa: PTH115, as it is written, which pathlib would tidy
            continue
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        found[name] = (sha256, bool(status.st_mode & 0o100))
        contents.setdefault(sha256, path)
    return Tree(found, links), contents


def _members(tree: Tree, contents: Mapping[str, Path]) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    index = canonical({"files": {name: list(entry) for name, entry in tree.files.items()}, "links": dict(tree.links)})
    yield INDEX, len(index), iter([index])
    for sha256, path in sorted(contents.items()):
        yield f"files/{sha256}", path.stat().st_size, file_chunks(path)
