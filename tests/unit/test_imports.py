"""The floors of the design, walked: an import points downwards, never up and never in a circle."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import arci

ROOT = Path(arci.__file__).parent
FLOORS: dict[str, int] = {
    "errors": 0,
    "agent": 0,
    "model": 0,
    "manifest": 1,
    "stats": 1,
    "faults": 1,
    "wire": 1,
    "guest": 2,
    "boundary": 2,
    "isolation": 3,
    "store": 3,
    "run": 4,
    "gate": 5,
    "bundle": 6,
    "diagnose": 6,
    "sign": 6,
    "report": 7,
    "sealing": 8,
    "steps": 8,
    "failures": 8,
    "api": 8,
    "demo": 8,
    "doctor": 8,
    "containment": 8,
    "live": 8,
    "scaffold": 8,
    "cli": 9,
    "__main__": 9,
    "__init__": 0,
}
STARTED_BY_ARGV = {"guest", "boundary"}
GUEST_FLOORS = {"agent", "wire", "faults", "guest", "boundary"}
FOREIGN_OF_ONE_PACKAGE = {
    "docker": "isolation/docker",
    "yaml": "manifest",
    "rich": "run",
    "click": "cli",
    "httpx": "run/egress",
    "cryptography": "sign",
}
MODULES = sorted(p for p in ROOT.rglob("*.py") if "_images" not in p.parts and "_native" not in p.parts)


def _part(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import; the project uses absolute ones"
            found.add(node.module or "")
            if node.module == "arci":
                found |= {f"arci.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_import_points_downwards(path: Path) -> None:
    here = _part(path)
    assert here in FLOORS, f"{here}: give the new part a floor"
    for name in _imports(path):
        parts = name.split(".")
        if parts[0] != "arci" or len(parts) == 1 or parts[1] == "__version__":
            continue
        there = parts[1]
        assert FLOORS[there] <= FLOORS[here], f"{path.relative_to(ROOT)} imports {name}: an upward arrow"
        if here not in STARTED_BY_ARGV:
            assert there not in STARTED_BY_ARGV, f"{path.relative_to(ROOT)} imports {name}: guests are started by argv"


def test_no_circle_between_modules() -> None:
    graph: dict[str, set[str]] = {}
    names = {".".join(p.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__") for p in MODULES}
    for path in MODULES:
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        graph[name] = {i for i in _imports(path) if i in names and i != name and i != "arci"}
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for child in graph[name]:
                walk(child, (*trail, name))
            done.add(name)

    for name in graph:
        walk(name, ())


@pytest.mark.parametrize("path", [p for p in MODULES if _part(p) in GUEST_FLOORS], ids=lambda p: p.name)
def test_what_guests_import_is_the_standard_library_and_reads_on_39(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    for name in _imports(path):
        assert name.split(".")[0] in sys.stdlib_module_names | {"arci"}, f"{path.name} imports {name}"


def test_foreign_packages_stay_behind_their_seam() -> None:
    for path in MODULES:
        where = path.relative_to(ROOT).as_posix()
        for name in _imports(path):
            home = FOREIGN_OF_ONE_PACKAGE.get(name.split(".")[0])
            assert home is None or where.startswith(home), f"{where} imports {name}, which belongs to {home}"
