"""Where the engine is: DOCKER_HOST, then the active docker context, then the usual sockets. Reads files, dials nothing.

The same order as the `docker` command's, so that both talk to the same engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.errors import EngineUnavailable

__all__ = ["Endpoint", "TlsFiles", "find_endpoints"]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files; None where there is none. `verify` False trusts whatever answers."""

    ca: str | None
    cert: str | None
    key: str | None
    verify: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    why: str
    """What made it the choice, for people: `DOCKER_HOST is set`."""
    tls: TlsFiles | None = None


def find_endpoints(environ: Mapping[str, str], home: Path) -> tuple[Endpoint, ...]:
    """The endpoints to try, best first; one alone where somebody chose it. EngineUnavailable if there is none."""
    config_dir = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    if host := environ.get("DOCKER_HOST"):
        return (Endpoint(host, "DOCKER_HOST is set", _environment_tls(environ, config_dir)),)
    name, source = _active_context(environ, config_dir)
    if name != "default":
        return (_context(config_dir, name, source),)
    sockets = tuple(_usual_sockets(environ, home))
    found = tuple(Endpoint(f"unix://{path}", "it is a usual place of its socket") for path in sockets if path.exists())
    if not found:
        looked = ", ".join(str(path) for path in sockets)
        raise EngineUnavailable(
            "container engine: none found; DOCKER_HOST is not set, no docker context is active, "
            f"and there is no {looked}.",
            hint="install and start Docker or Podman, or set DOCKER_HOST; `--isolation process` needs no engine",
        )
    return found


def _environment_tls(environ: Mapping[str, str], config_dir: Path) -> TlsFiles | None:
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    if not verify and not environ.get("DOCKER_TLS"):
        return None
    return _tls_files(Path(environ.get("DOCKER_CERT_PATH") or config_dir), verify)


def _tls_files(directory: Path, verify: bool) -> TlsFiles:
    def there(name: str) -> str | None:
        path = directory / name
        return str(path) if path.is_file() else None

    return TlsFiles(there("ca.pem"), there("cert.pem"), there("key.pem"), verify)


def _active_context(environ: Mapping[str, str], config_dir: Path) -> tuple[str, str]:
    if name := environ.get("DOCKER_CONTEXT"):
        return name, "DOCKER_CONTEXT"
    path = config_dir / "config.json"
    name = _read_object(path).get("currentContext")
    return (name, str(path)) if isinstance(name, str) and name else ("default", "")


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of docker's; what cannot be read counts as empty, as it does for `docker` itself."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _context(config_dir: Path, name: str, source: str) -> Endpoint:
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = config_dir / "contexts" / "meta" / key / "meta.json"
    endpoint = _read_object(meta).get("Endpoints", {}).get("docker", {})
    host = endpoint.get("Host")
    if not host:
        raise EngineUnavailable(
            f"container engine: the docker context {name!r}, named by {source}, has no endpoint in {meta}.",
            hint="docker context ls, docker context use NAME",
        )
    tls_dir = config_dir / "contexts" / "tls" / key / "docker"
    skips = bool(endpoint.get("SkipTLSVerify"))
    tls = _tls_files(tls_dir, not skips) if tls_dir.is_dir() or skips else None
    return Endpoint(host, f"the docker context {name!r} is active ({source})", tls)


def _usual_sockets(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    yield Path("/var/run/docker.sock")
    runtime_dir = environ.get("XDG_RUNTIME_DIR")
    if runtime_dir:
        yield Path(runtime_dir, "docker.sock")
    yield home / ".docker" / "run" / "docker.sock"
    if runtime_dir:
        yield Path(runtime_dir, "podman", "podman.sock")
    yield Path("/run/podman/podman.sock")
