"""The Dockerfile that ARCI writes for a Python project which has none. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from arci.isolation.docker.recipes import KIND

__all__ = ["APP", "CA_NAME", "project_dockerfile"]

APP = "app"
"""Where the context holds the project, so that nothing beside it is copied into the image."""
CA_NAME = "arci-build-ca/bundle.pem"
_CA_PATH = f"/{CA_NAME}"
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def project_dockerfile(
    base: str, *, requirements: str | None, pyproject: str | None, args: Sequence[str] = (), has_ca: bool = False
) -> str:
    """Dependencies in a stage of their own (no CA bundle and no pip cache gets into the image), then the sources.

    `requirements` and `pyproject` are the files' contents, None where there is none; `args` are the names of build
    arguments, which the installation sees as environment variables (`PIP_INDEX_URL`).
    """
    installs, lines = _installs(requirements, pyproject), []
    if installs:
        lines += [f"FROM {base} AS packages", f"LABEL {KIND}=stage", "WORKDIR /app", *(f"ARG {name}" for name in args)]
        lines += [f"COPY {CA_NAME} {_CA_PATH}"] if has_ca else []
        lines += [_copied(requirements, pyproject), f"RUN {_environment(has_ca)}{' && '.join(installs)}"]
    lines += [f"FROM {base}"]
    if installs:
        lines += ["COPY --from=packages /opt/venv /opt/venv", 'ENV PATH="/opt/venv/bin:${PATH}"']
    # A module that does not compile is for the run to tell, where it is the agent's failure.
    compiled = "RUN python3 -m compileall -q --invalidation-mode unchecked-hash /app || true"
    lines += [f"COPY {APP} /app", compiled, "WORKDIR /app", "USER 65534:65534"]
    return "\n".join(lines) + "\n"


def _installs(requirements: str | None, pyproject: str | None) -> list[str]:
    pip = "/opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check"
    found = []
    if requirements is not None:
        found.append(f"{pip} -r requirements.txt")
    if pyproject is not None and _is_a_project(pyproject):
        found.append(f"{pip} .")
    return ["python3 -m venv /opt/venv", *found] if found else []


def _is_a_project(pyproject: str) -> bool:
    """Many a pyproject.toml only configures tools: there is nothing to install then. A broken one is pip's to tell."""
    try:
        tables = tomllib.loads(pyproject)
    except tomllib.TOMLDecodeError:
        return True
    return "project" in tables or "build-system" in tables


def _copied(requirements: str | None, pyproject: str | None) -> str:
    """The list alone where it names nothing of the project: then a change of the sources installs nothing again."""
    lines = [line.strip() for line in (requirements or "").splitlines()]
    is_plain = not any(line.startswith(("-", ".", "/", "file:")) or " @ " in line for line in lines)
    if requirements is not None and is_plain and (pyproject is None or not _is_a_project(pyproject)):
        return f"COPY {APP}/requirements.txt ./"
    return f"COPY {APP} ./"


def _environment(has_ca: bool) -> str:
    assignments = " ".join(f"{name}={_CA_PATH}" for name in _CA_VARIABLES)
    return f"export {assignments} && " if has_ca else ""
