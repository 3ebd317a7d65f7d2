"""What the wheel carries of `images/`: Dockerfiles and recipes. Reads files, touches no engine."""

from __future__ import annotations

from pathlib import Path

import arci

__all__ = ["KIND", "recipe_bytes"]

KIND = "dev.arci.kind"
"""Label of everything that outlives a run: `base`, `runtime`, `project`. Sweeps and `arci clean` leave these alone."""


def recipe_bytes(name: str) -> bytes:
    """The content of `images/<name>`, from an installed wheel or from a checkout."""
    package = Path(arci.__file__).parent
    installed = package / "_images"
    return (installed if installed.is_dir() else package.parent / "images").joinpath(name).read_bytes()
