"""The private directories of a run: where they are, who owns them, and the removal of those whose owner is dead."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arci.errors import EngineError
from arci.isolation.process.stragglers import kill_stragglers

__all__ = ["RunDirectory", "candidate_bases", "choose_base", "remove_tree", "run_directories", "run_prefixes", "sweep"]

PREFIX = "arci-run-"
LOCK = "owner.lock"
SOCKET_PATH_BYTES = 100
"""Longest path of a socket that every system takes (sun_path: 108 bytes on Linux, 104 on macOS and BSD)."""

_LONGEST_TAIL = f"/{PREFIX}{'x' * 12}-{'x' * 8}/pod-999999/s"


def candidate_bases() -> list[Path]:
    """Where private directories may be made, best first: TMPDIR, /tmp, XDG_RUNTIME_DIR."""
    places = [tempfile.gettempdir(), "/tmp", os.environ.get("XDG_RUNTIME_DIR", "")]
    return [Path(place) for place in dict.fromkeys(places) if place]


def choose_base() -> Path:
    """The first place that is writable and short enough for a socket's path. EngineError if there is none."""
    tried = []
    for base in candidate_bases():
        length = len(os.fsencode(base)) + len(_LONGEST_TAIL)
        if length > SOCKET_PATH_BYTES:
            tried.append(f"{base} (a socket there would have a path of {length} bytes)")
        elif not os.access(base, os.W_OK | os.X_OK):
            tried.append(f"{base} (not writable)")
        else:
            return base
    raise EngineError(
        "open",
        f"no place for private directories: {', '.join(tried)}; paths of sockets may have {SOCKET_PATH_BYTES} bytes",
        hint="set TMPDIR to a short writable directory",
    )


def _name_start(run_id: str) -> str:
    return PREFIX + "".join(c for c in run_id if c.isalnum())[:12] + "-"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run's directory, 0700, with a lock that its owner holds for as long as it lives."""

    path: Path
    lock: int

    @classmethod
    def make(cls, run_id: str) -> RunDirectory:
        base = choose_base()
        made = Path(tempfile.mkdtemp(prefix=".arci-new-", dir=base))
        lock = os.open(made / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # It takes its name only when it is locked, so that a sweep never takes it for a dead run's.
        path = base / (_name_start(run_id) + made.name.rpartition("-")[2])
        made.rename(path)
        return cls(path, lock)

    def remove(self) -> None:
        """Kill whatever of the run still runs, then remove everything."""
        kill_stragglers(f"{self.path}/")
        remove_tree(self.path)
        os.close(self.lock)


def run_prefixes(run_id: str | None = None) -> list[str]:
    """What the paths of runs' directories (of one run's, if given) begin with."""
    start = PREFIX if run_id is None else _name_start(run_id)
    return [str(base / start) for base in candidate_bases()]


def run_directories(run_id: str | None = None) -> list[Path]:
    """Directories of runs of this user (of one run, if given) on this machine."""
    prefixes = [Path(prefix) for prefix in run_prefixes(run_id)]
    return [path for prefix in prefixes for path in sorted(prefix.parent.glob(f"{prefix.name}*")) if _is_ours(path)]


def _is_ours(path: Path) -> bool:
    with contextlib.suppress(OSError):
        facts = path.lstat()
        return facts.st_uid == os.geteuid() and path.is_dir() and not path.is_symlink()
    return False


def sweep() -> list[Path]:
    """Remove the directories, and end the processes, of runs whose owner is dead; which these were.

    What cannot be removed is left for the next sweep: an old run's rest is no reason to refuse a new run.
    """
    swept = []
    for path in run_directories():
        if _owner_is_dead(path):
            kill_stragglers(f"{path}/")
            with contextlib.suppress(EngineError):
                remove_tree(path)
                swept.append(path)
    return swept


def _owner_is_dead(path: Path) -> bool:
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # its owner died while it removed the directory
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def remove_tree(path: Path) -> None:
    """Remove `path` and all below, whatever a guest has made of it. EngineError if something stays."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if not path.exists():
        return
    # Directories without permissions or thousands deep: the system's own tools walk those.
    for command in (["chmod", "-R", "u+rwX", "--", str(path)], ["rm", "-rf", "--", str(path)]):
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        except OSError as error:  # no descriptors or processes left
            raise EngineError("remove", f"{path}: {error.strerror}", hint=f"rm -rf {path}") from error
    if path.exists():
        raise EngineError("remove", f"{path} cannot be removed", hint=f"rm -rf {path}")
