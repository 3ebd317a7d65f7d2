"""What an image holds, by the names of its files."""

from __future__ import annotations

import io
import tarfile

from arci.isolation.docker.engine import Engine

__all__ = ["file_names"]


def file_names(engine: Engine, image: str) -> list[str]:
    """Every regular file and link in a container of the image that was never started."""
    container = engine.api.create_container(image, ["/never-started"])
    try:
        data = b"".join(engine.api.export(container))
    finally:
        engine.api.remove_container(container, force=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [member.name for member in tar if not member.isdir()]
