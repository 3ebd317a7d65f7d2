"""Writes the packs that `packs` reads: a program's part, run once by the interpreter of an image."""

from __future__ import annotations

import importlib
import marshal
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import MAGIC_NUMBER

from arci.guest.packs import BEFORE, PACKS, file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any, List, Optional, Sequence, Tuple

__all__ = ["write_packs"]


def write_packs(directory: str) -> None:
    """Every pack, into a directory that may not be there. Imports what they hold: only for a program of its own."""
    os.makedirs(directory, exist_ok=True)
    whole = {name: _modules(names) for name, names in PACKS.items()}
    for name, modules in whole.items():
        there = {module[0] for module in whole[BEFORE[name]]} if name in BEFORE else set()
        data = marshal.dumps([module for module in modules if module[0] not in there])
        with open(os.path.join(directory, file_name(name)), "wb") as file:
            file.write(MAGIC_NUMBER + data)


def _modules(names: Sequence[str]) -> List[Tuple[str, str, CodeType]]:
    """Name, file and code of these and of all of ours that they import, in the order in which the imports end."""
    watch = _Watch()
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "arci"}
    sys.meta_path.insert(0, watch)
    try:
        for name in names:
            importlib.import_module(name)
    finally:
        sys.meta_path.remove(watch)
        sys.modules.update(before)
    return watch.seen


class _Watch:
    """Finds our modules as Python does, and notes when each has been run."""

    def __init__(self) -> None:
        self.seen: List[Tuple[str, str, CodeType]] = []

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None) -> Any:
        spec = PathFinder.find_spec(name, path, target) if name.partition(".")[0] == "arci" else None
        if spec is not None:
            self._note(spec)
        return spec

    def _note(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        run = loader.exec_module

        def run_and_note(module: ModuleType) -> None:
            run(module)
            self.seen.append((spec.name, str(spec.origin), loader.get_code(spec.name)))

        loader.exec_module = run_and_note
