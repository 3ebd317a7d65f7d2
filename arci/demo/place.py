"""The demo's own directory: the retry example, with two more descriptors, written where nothing is yet."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import arci
from arci.errors import UsageError
from arci.store.files import naming

__all__ = ["EXAMPLE_FILES", "OWN_FILES", "choose_directory", "reach", "write_files"]

EXAMPLE_FILES = (
    *("a-vs-a.yaml", "a-vs-b.yaml", "a-vs-c.yaml"),
    *("agent_a/agent.py", "agent_b/agent.py", "agent_c/agent.py", "world/world.py", "world/oracle.py"),
)
"""All of examples/retry_agent but its page, which is about a place in this repository."""
OWN_FILES = ("one-order.yaml", "three-faults.yaml")
_NAME = "arci-demo"


def choose_directory(out: Path | None) -> Path:
    """`out`, or the first of `arci-demo`, `arci-demo-2`, ... that is free here. UsageError if something is in `out`."""
    if out is None:
        names = (_NAME if number == 1 else f"{_NAME}-{number}" for number in count(1))
        return next(place for name in names if not (place := Path(name)).exists() and not place.is_symlink())
    if out.is_dir() and not any(out.iterdir()):
        return out
    if out.exists() or out.is_symlink():
        raise UsageError(f"--out: {out}: something is there already; a new or an empty directory is required.")
    return out


async def reach(backend: str) -> str:
    """What trials will run on: `backend`, or the endpoint of the engine. EngineUnavailable where none answers."""
    if backend != "docker":
        return backend
    from arci.isolation.docker.engine import connect

    engine = await connect()
    engine.close()
    return str(engine.endpoint)


def write_files(directory: Path) -> None:
    """The experiment, whole. StoreError naming what cannot be written."""
    package = Path(arci.__file__).parent
    installed = package / "_examples"
    example = (installed if installed.is_dir() else package.parent / "examples") / "retry_agent"
    sources = {name: example / name for name in EXAMPLE_FILES}
    sources |= {name: Path(__file__).parent / "files" / name for name in OWN_FILES}
    for name, source in sources.items():
        path = directory / name
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.read_bytes())
