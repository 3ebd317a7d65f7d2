"""Files that the agent leaves for the grader: which paths to fetch, and an archive read as hostile input. Pure.

Nothing is ever unpacked to disk: members are read in memory, links and special files are left out, caps hold.
"""

from __future__ import annotations

import base64
import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from arci.model.canonical import digest, digest_bytes

__all__ = [
    "MOST_ARCHIVE_BYTES",
    "MOST_DEPTH",
    "MOST_FILES",
    "MOST_FILE_BYTES",
    "MOST_MEMBERS",
    "MOST_TOTAL_BYTES",
    "Evidence",
    "EvidenceRefused",
    "fetch_paths",
    "matches",
    "read_archive",
]

MOST_FILES = 1_000
MOST_FILE_BYTES = 8 << 20
MOST_TOTAL_BYTES = 16 << 20
MOST_MEMBERS = 20_000
"""Entries of one archive, whether declared as evidence or not."""
MOST_ARCHIVE_BYTES = 64 << 20
MOST_DEPTH = 64
"""Directories within directories. A back end may refuse deeper trees by itself; here it holds for all of them."""
_WILD = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


class EvidenceRefused(ValueError):
    """Over a cap, or an archive that no honest agent makes: the agent's failure."""


@dataclass(slots=True)
class Evidence:
    """Declared files by their path below the agent's workdir."""

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Declared paths that are no regular files, each with what it is."""

    def add(self, path: str, data: bytes) -> None:
        """EvidenceRefused over a cap. The same file, fetched by two patterns, counts once."""
        self.files[path] = data
        total = sum(map(len, self.files.values()))
        if len(self.files) > MOST_FILES or total > MOST_TOTAL_BYTES:
            allowed = f"{MOST_FILES} files, {MOST_TOTAL_BYTES} bytes are allowed"
            raise EvidenceRefused(f"evidence: {len(self.files)} files of {total} bytes; {allowed}")

    def for_grader(self) -> dict[str, dict[str, str]]:
        """Path -> `{"text": ...}`, or `{"base64": ...}` for what is no UTF-8."""
        return {path: _encoded(data) for path, data in sorted(self.files.items())}

    def for_record(self) -> dict[str, Any]:
        """`sha256` over `files`: path -> `bytes`, `sha256`."""
        files = {path: {"bytes": len(data), "sha256": digest_bytes(data)} for path, data in sorted(self.files.items())}
        return {"sha256": digest(files), "files": files}


def fetch_paths(patterns: Iterable[str]) -> list[str]:
    """What to ask a pod for: the part of each pattern before its first wildcard (`.`: none); no path twice."""
    paths: dict[str, None] = {}
    for pattern in patterns:
        fixed: list[str] = []
        for part in _parts(pattern):
            if _WILD.search(part):
                break
            fixed.append(part)
        paths["/".join(fixed) or "."] = None
    return [path for path in paths if not any(_is_below(path, other) for other in paths if other != path)]


def matches(patterns: Iterable[str], path: str) -> bool:
    """True if a pattern names the file or a directory above it. `*` and `?` stay within a part, `**` crosses them."""
    return any(_expression(pattern).match(f"{path}/") for pattern in patterns)


def read_archive(data: bytes, fetched: str, patterns: Iterable[str], evidence: Evidence) -> None:
    """Adds the declared files of the archive of `fetched` to `evidence`.

    Members are named from the last part of `fetched` on (`./...` for `.`). EvidenceRefused as above; tarfile.TarError
    if the archive itself is broken.
    """
    declared = [_expression(pattern) for pattern in patterns]
    above = "" if fetched == "." else fetched.rpartition("/")[0]
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for path, member in _members(archive, above):
            if not any(expression.match(f"{path}/") for expression in declared) or member.isdir():
                continue
            if not member.isreg():
                evidence.left_out.append(f"{path}: {_kind(member)}")
                continue
            if member.size > MOST_FILE_BYTES:
                raise EvidenceRefused(f"evidence: {path} has {member.size} bytes; {MOST_FILE_BYTES} are allowed")
            file = archive.extractfile(member)
            assert file is not None
            evidence.add(path, file.read())


def _members(archive: tarfile.TarFile, above: str) -> Iterator[tuple[str, tarfile.TarInfo]]:
    seen: set[str] = set()
    for count, member in enumerate(archive, 1):
        if count > MOST_MEMBERS:
            raise EvidenceRefused(f"evidence: more than {MOST_MEMBERS} entries in the archive")
        if member.name.startswith("/") or ".." in member.name.split("/"):
            raise EvidenceRefused(f"evidence: the archive leads out of the workdir: {member.name[:200]!r}")
        if member.isdir() and len(_parts(member.name)) > MOST_DEPTH:
            raise EvidenceRefused(f"evidence: {member.name[:200]!r} is more than {MOST_DEPTH} directories deep")
        path = "/".join(part for part in (above, *_parts(member.name)) if part)
        if path in seen:
            raise EvidenceRefused(f"evidence: the archive names {path[:200]!r} twice")
        seen.add(path)
        yield path, member


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _is_below(path: str, other: str) -> bool:
    return other == "." or path.startswith(f"{other}/")


def _expression(pattern: str) -> re.Pattern[str]:
    """Matches, from the start, the path with a slash after it."""
    parts = ("(?:[^/]+/)*" if part == "**" else _part_expression(part) + "/" for part in _parts(pattern))
    return re.compile("".join(parts), re.DOTALL)


def _part_expression(part: str) -> str:
    def one(found: re.Match[str]) -> str:
        text = found.group()
        if text == "*":
            return "[^/]*"
        if text == "?":
            return "[^/]"
        if len(text) == 1:
            return re.escape(text)
        inner = text[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return _class_expression(text, f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]")

    return _TOKEN.sub(one, part)


def _class_expression(text: str, expression: str) -> str:
    try:
        re.compile(expression)
    except re.error:
        return re.escape(text)  # `[z-a]` names nothing but itself
    return f"(?!/){expression}"


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        return f"a link to {member.linkname[:200]}"
    return "no regular file"


def _encoded(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}
