"""What ARCI itself runs inside guests: its files, their digest, their build context. Reads the installation alone.

Free of the engine's client, so that process isolation can seal the digest without paying for its import.
"""

from __future__ import annotations

import functools
import tarfile
from io import BytesIO
from pathlib import Path

import arci
from arci.errors import EngineError
from arci.isolation.docker.recipes import recipe_bytes
from arci.model.canonical import digest, digest_bytes

__all__ = ["runtime_context", "runtime_sha256"]

_MODULES = ("__init__.py", "agent.py", "errors.py", "model/__init__.py", "model/canonical.py")
_PACKAGES = ("boundary", "faults", "guest", "wire")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@functools.cache
def runtime_sha256() -> str:
    """Digest of everything that ARCI runs inside guests: Python, arci-init for every architecture, recipe."""
    content = {**_library(), **_natives()}
    content |= {name: recipe_bytes(name) for name in ("runtime.Dockerfile", "seal.py")}
    return digest({name: digest_bytes(data) for name, data in content.items()})


def runtime_context(architecture: str) -> bytes:
    """The build context as a tar: the same bytes for the same content. EngineError without an arci-init for it."""
    native = f"arci-init-{_ARCHITECTURES.get(architecture, architecture)}"
    natives = _natives()
    if native not in natives:
        raise EngineError(
            "make the runtime image",
            f"this installation has no {native} for an engine of architecture {architecture!r}.",
            hint="pip install --force-reinstall arci, or `make setup` in a checkout",
        )
    files = {"Dockerfile": recipe_bytes("runtime.Dockerfile"), "arci/seal.py": recipe_bytes("seal.py")}
    files |= {f"arci/lib/{name}": data for name, data in _library().items()}
    files["arci/bin/arci-init"] = natives[native]
    return _tar(files)


def _tar(files: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755 if name.startswith("arci/bin/") else 0o644
            tar.addfile(member, BytesIO(data))
    return out.getvalue()


def _library() -> dict[str, bytes]:
    """`arci/...` -> content of every module that a guest may import."""
    package = Path(arci.__file__).parent
    paths = [package / name for name in _MODULES]
    paths += [path for name in _PACKAGES for path in sorted((package / name).rglob("*.py"))]
    return {f"arci/{path.relative_to(package).as_posix()}": path.read_bytes() for path in paths}


def _natives() -> dict[str, bytes]:
    native = Path(arci.__file__).parent / "_native"
    return {path.name: path.read_bytes() for path in sorted(native.glob("arci-init-*"))}
