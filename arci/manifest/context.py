"""The files of a build context or source tree: sorted, without what must never travel, `.dockerignore` honoured.

The engine client's own matcher is not used: it folds case, and importing it would load the whole client on a floor
that knows no engine. The standard library's `fnmatch` lets `*` cross slashes. Reads the file system; changes nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["OWN_FILES", "Ignore", "context_files"]

OWN_FILES = (".arci", ".arci.json")
"""How bundles and reproducers are called. A failure that is written beside its sources must not change them."""

_NEVER = frozenset({".git", ".env", ".venv", "__pycache__"})
_KEPT = ("Dockerfile", ".dockerignore")


def context_files(directory: str | Path, *, keep: Sequence[str] = _KEPT) -> list[tuple[str, str]]:
    """(relative path with forward slashes, absolute path) of every file and symbolic link, sorted by the first.

    Links are listed, never followed. `runs/` at the top, `.git`, `.env`, `.venv`, `__pycache__`, `*.pyc` and what is
    called as `OWN_FILES` stay out whatever `.dockerignore` says; paths in `keep` are in whatever it says (a builder
    needs its Dockerfile). Sockets and FIFOs stay out. Raises OSError for what cannot be listed.
    """
    root = Path(directory).absolute()
    ignore = Ignore.of(root)
    found = []
    for relative, path in _walk(root, "", ignore):
        if relative in keep or not ignore.matches(relative):
            found.append((relative, path))
    return sorted(found)


def _walk(root: Path, below: str, ignore: Ignore) -> Iterator[tuple[str, str]]:
    with os.scandir(root / below) as entries:
        for entry in entries:
            relative = posixpath.join(below, entry.name)
            if entry.name in _NEVER or entry.name.endswith((".pyc", *OWN_FILES)):
                continue
            if entry.is_dir(follow_symlinks=False):
                if relative != "runs" and not ignore.prunes(relative):
                    yield from _walk(root, relative, ignore)
            elif entry.is_symlink() or stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                yield relative, entry.path


class Ignore:
    """The patterns of a `.dockerignore`: the last one that matches a path, or a directory above it, decides."""

    def __init__(self, lines: Sequence[str]) -> None:
        rules = [rule for line in lines if (rule := _rule(line)) is not None]
        self._rules = [(negated, _compiled(pattern)) for negated, pattern in rules]
        self._has_exceptions = any(negated for negated, _ in rules)

    @classmethod
    def of(cls, root: Path) -> Ignore:
        """Of the directory's own file; no patterns where there is none."""
        try:
            text = (root / ".dockerignore").read_bytes().decode("utf-8-sig", "replace")
        except (FileNotFoundError, IsADirectoryError):
            return cls(())
        return cls(text.splitlines())

    def matches(self, relative: str) -> bool:
        """True if the path is left out."""
        parts = relative.split("/")
        paths = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        out = False
        for negated, pattern in self._rules:
            if negated == out and any(pattern.fullmatch(path) for path in paths):
                out = not negated
        return out

    def prunes(self, relative: str) -> bool:
        """True if nothing below the directory can be in; with exceptions about, only looking below tells."""
        return not self._has_exceptions and self.matches(relative)


def _rule(line: str) -> tuple[bool, str] | None:
    if line.startswith("#"):
        return None
    text = line.strip()
    negated = text.startswith("!")
    pattern = posixpath.normpath("/" + text[1:].strip() if negated else "/" + text).lstrip("/")
    return (negated, pattern) if pattern else None


def _regex(pattern: str) -> str:
    """Docker's patterns: `*` and `?` stay within a name, `**` crosses slashes, `[...]` and a backslash as in Go."""
    out, at = "", 0
    while at < len(pattern):
        token = re.compile(r"\*\*/?|\*|\?|\[\^?\]?[^\]]*\]|\\.|.", re.DOTALL).match(pattern, at)
        assert token is not None  # the last alternative takes any character
        at = token.end()
        out += _piece(token[0], is_last=at == len(pattern))
    return out


def _piece(token: str, *, is_last: bool) -> str:
    if token.startswith("**"):
        return ".*" if is_last else "(?:.*/)?"
    if token in ("*", "?"):
        return "[^/]*" if token == "*" else "[^/]"
    if len(token) > 2 and token.startswith("["):
        return f"(?!/)[{_class(token[1:-1])}]"
    return re.escape(token[1:] if len(token) == 2 and token.startswith("\\") else token)


def _class(body: str) -> str:
    """The inside of a character class with everything escaped but a leading `^`, ranges and what a backslash quotes."""
    out = "^" if body.startswith("^") else ""
    for token in re.findall(r"\\.|.", body[len(out) :], re.DOTALL):
        is_range = token == "-" and not out.endswith("-")
        out += "-" if is_range else re.escape(token[-1])
    return out


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_regex(pattern))
    except re.error:  # such as the range [z-a]: it can match nothing but itself
        return re.compile(re.escape(pattern))
