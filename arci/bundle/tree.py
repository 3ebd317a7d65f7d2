"""A source tree out of a bundle, written to a fresh directory: hostile until its digests are those that were sealed.

Files first and links last, under paths that were checked as text; so nothing is ever written through a link.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from arci.bundle.refusal import Bounds, BundleError
from arci.bundle.source import INDEX, Tree, check_paths, sources_of
from arci.bundle.tar import Member, chunks, read_whole, walk
from arci.manifest.identity import source_identity
from arci.model.manifest import Manifest
from arci.store.lines import parse_object

__all__ = ["unpack_tree"]

_MOST_FILES = 100_000
_CONTENT = re.compile(r"files/[0-9a-f]{64}")
_INDEX_BYTES = 64 << 20


def unpack_tree(tar: Path, manifest: Manifest, root: str, directory: Path, bounds: Bounds) -> Path:
    """Write the tree of the unpacked `tar` below `directory`, which must be new and empty; the descriptor's directory
    in it, whose sources have been held against the seal. BundleError for anything else, before the first file."""
    fd = os.open(tar, os.O_RDONLY | os.O_CLOEXEC)
    try:
        members = {m.name: m for m in walk(fd, lambda name: _most(name, bounds), members=_MOST_FILES + 1)}
        tree = _tree(fd, members)
        _check_contents(tree, members, bounds)
        places = _places(manifest, root)
        _write(fd, members, tree, directory)
    finally:
        os.close(fd)
    _hold_to_seal(manifest, places, directory)
    return directory / root


def _most(name: str, bounds: Bounds) -> int | None:
    if name == INDEX:
        return _INDEX_BYTES
    return bounds.source_bytes if _CONTENT.fullmatch(name) else None


def _tree(fd: int, members: Mapping[str, Member]) -> Tree:
    if INDEX not in members:
        raise BundleError("source tree: its index is missing.")
    try:
        value = parse_object(read_whole(fd, members[INDEX]))
        files = {path: _entry(entry) for path, entry in value["files"].items()}
        links = {path: _text(target) for path, target in value["links"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BundleError(f"source tree: its index cannot be read: {error}.") from None
    tree = Tree(files, links)
    check_paths(tree)
    return tree


def _entry(value: object) -> tuple[str, bool]:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], bool):
        return _text(value[0]), value[1]
    raise TypeError("an entry is no pair of digest and flag")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError("a text is expected")


def _check_contents(tree: Tree, members: Mapping[str, Member], bounds: Bounds) -> None:
    """Each content named and each name with a content; and no content named so often that it fills the disk."""
    names = [f"files/{sha256}" for sha256, _ in tree.files.values()]
    if set(names) != set(members) - {INDEX} or len(names) + len(tree.links) > _MOST_FILES:
        raise BundleError("source tree: its index does not name the files that are there.")
    if sum(members[name].bytes for name in names) > bounds.source_bytes:
        raise BundleError(f"source tree: unpacks to more than {bounds.source_bytes} bytes; that many are allowed.")


def _places(manifest: Manifest, root: str) -> dict[str, str]:
    """Identity -> directory in the tree. The manifest is the bundle's: its paths must stay inside, too."""
    places = {name: posixpath.normpath(posixpath.join(root, source)) for name, source in sources_of(manifest).items()}
    for name, place in (*places.items(), ("source_root", posixpath.normpath(root))):
        if place.startswith("/") or place.split("/")[0] == "..":
            raise BundleError(f"{name}: its directory {place[:200]!r} lies outside the source tree.")
    return places


def _write(fd: int, members: Mapping[str, Member], tree: Tree, directory: Path) -> None:
    for path, (sha256, is_executable) in tree.files.items():
        out = directory / path
        out.parent.mkdir(parents=True, exist_ok=True)
        made = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if is_executable else 0o644)
        with os.fdopen(made, "wb") as file:
            if _copy(chunks(fd, members[f"files/{sha256}"]), file) != sha256:
                raise BundleError(f"member 'files/{sha256}': is not of that digest.")
    for path, target in tree.links.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).symlink_to(target)


def _copy(data: Iterable[bytes], out: BinaryIO) -> str:
    total = hashlib.sha256()
    for piece in data:
        total.update(piece)
        out.write(piece)
    return total.hexdigest()


def _hold_to_seal(manifest: Manifest, places: Mapping[str, str], directory: Path) -> None:
    for name, place in places.items():
        where = directory / place
        found = source_identity(where)["sha256"] if where.is_dir() else None
        if found != manifest.images[name]["sha256"]:
            raise BundleError(f"images.{name}: its source tree is not what was sealed.")
