"""Experiments whose environments are real MCP servers (`tests/servers/`): the images they need, and one run of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e import Finished, arci, call, records
from trust import build_trust

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images import resolve_images
from arci.manifest.images import ImageRequest

__all__ = ["FOLDER", "NODE_IMAGE", "SHELL_IMAGE", "by_arm", "events", "outcomes", "run", "server_images", "tool_calls"]

FOLDER = Path(__file__).parent / "servers"
NODE_IMAGE = "arci-test/mcp-node"
SHELL_IMAGE = "arci-test/mcp-shell"

Outcome = tuple[str, str, str | None]


def server_images(engine: Engine) -> None:
    """Build the images that the descriptors name, and give them their names."""
    bundle = build_trust()["ARCI_BUILD_CA_BUNDLE"]
    for name, folder in ((NODE_IMAGE, "node"), (SHELL_IMAGE, "shell")):
        anyio.run(_named, engine, name, FOLDER / folder, None if bundle is None else Path(bundle))


async def _named(engine: Engine, name: str, context: Path, bundle: Path | None) -> None:
    request = ImageRequest("build", context=context)
    found = await resolve_images(engine, {"server": request}, build_ca=bundle)
    engine.api.tag(found["server"].id, name)


def run(name: str, out: Path) -> Finished:
    """`arci run` of a descriptor in `tests/servers/`."""
    ended = arci("run", FOLDER / f"{name}.yaml", "--out", out, "--json", env=build_trust())
    assert ended.stdout, ended.stderr
    return ended


def by_arm(ended: Finished) -> dict[str, dict[str, Any]]:
    """Arm -> the record of its one trial."""
    return {record["arm"]: record for record in records(ended.run).values()}


def outcomes(ended: Finished) -> dict[str, Outcome]:
    """Arm -> outcome, ending and blame of its one trial."""
    found = by_arm(ended)
    assert ended.json["verdict"] == "INCONCLUSIVE", [record["detail"] for record in found.values()]
    return {arm: (record["outcome"], record["ending"], record["blame"]) for arm, record in found.items()}


def events(capsys: pytest.CaptureFixture[str], ended: Finished, arm: str) -> list[dict[str, Any]]:
    """The events of the one trial of an arm."""
    shown = call(capsys, "show", ended.run, by_arm(ended)[arm]["trial_id"], "--json")
    found: list[dict[str, Any]] = shown.json["events"]
    return found


def tool_calls(found: list[dict[str, Any]]) -> list[str]:
    """Names of the tools that were called, in order."""
    return [event["tool"] for event in found if event["kind"] == "tool_start"]
