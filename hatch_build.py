"""Build hook: compiles arci-init for both architectures into arci/_native, for wheels and editable installs.

Nothing is compiled where the digest of sources and flags is the one already there, or in the user's cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGETS = {"arci-init-amd64": "x86_64-linux-musl", "arci-init-arm64": "aarch64-linux-musl"}
FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-Os", "-flto", "-static", "-s"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
    *("-Wall", "-Wextra", "-Werror"),
)
STAMP = "sources.sha256"


class NativeBuildHook(BuildHookInterface[Any]):
    """Run by hatchling before it collects the files of a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make arci/_native complete; raises SystemExit with what is missing."""
        ensure_native(Path(self.root))


def ensure_native(root: Path) -> None:
    """Leave both binaries and their stamp in `root`/arci/_native: kept, from the cache, or compiled."""
    wanted = sources_sha256(root / "native")
    there, cached = root / "arci" / "_native", _cache() / wanted
    if _complete(there, wanted):
        return
    if not _complete(cached, wanted):
        with _staged(cached) as staged:
            _compile(root / "native", staged)
            (staged / STAMP).write_text(wanted, encoding="ascii")
    with _staged(there) as staged:
        shutil.copytree(cached, staged, dirs_exist_ok=True)


def sources_sha256(native: Path) -> str:
    """Digest over every C file's name and content, the targets and the flags."""
    total = hashlib.sha256(repr((sorted(TARGETS.items()), FLAGS)).encode())
    for path in sorted(native.glob("*.[ch]")):
        total.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _complete(directory: Path, wanted: str) -> bool:
    stamp = directory / STAMP
    present = all((directory / name).is_file() for name in TARGETS)
    return present and stamp.is_file() and stamp.read_text(encoding="ascii") == wanted


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arci" / "native"


@contextmanager
def _staged(final: Path) -> Iterator[Path]:
    """A directory that takes the place of `final` in one step, and only if nothing was raised."""
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}-") as made:
        staged = Path(made, "new")
        staged.mkdir()
        yield staged
        if final.exists():
            final.rename(Path(made, "old"))
        staged.rename(final)


def _compile(native: Path, into: Path) -> None:
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit(
            f"arci-init: the C compiler of the build dependency `ziglang` is not importable by {sys.executable}. "
            "Hint: pip install ziglang, or build without --no-build-isolation"
        )
    sources = sorted(path.name for path in native.glob("*.c"))
    command = (sys.executable, "-m", "ziglang", "cc", *FLAGS, *sources)
    # Side by side: the first compile for a target builds its C library too, which takes most of the time.
    running = {
        name: subprocess.Popen((*command, "-target", target, "-o", str(into / name)), cwd=native)
        for name, target in TARGETS.items()
    }
    failed = [name for name, process in running.items() if process.wait() != 0]
    if failed:
        raise SystemExit(f"arci-init: the compiler failed for {', '.join(failed)}; its messages are above.")
