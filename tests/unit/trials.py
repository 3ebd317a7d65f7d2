"""Trials on the fake back end: a manifest, a setting and one call that makes a trial of them.

result = await make_trial(ScriptedTrial(events=[answer({"done": True})]))
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runs import condition, manifest_document

from arci.isolation.base import RunPlan
from arci.isolation.fake import FakeIsolation, ScriptedTrial
from arci.manifest.schedule import schedule
from arci.model.manifest import Manifest
from arci.model.trial import Trial
from arci.run.result import TrialResult
from arci.run.setting import Setting, make_setting
from arci.run.trial import run_trial

__all__ = [
    "ANSWERED",
    "Starts",
    "answer",
    "first_trial",
    "make_manifest",
    "make_trial",
    "mcp",
    "mcp_server",
    "outcome",
    "setting_of",
    "shell_arms",
    "snapshot",
]

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BUDGETS = {
    "max_tool_calls": 10,
    "max_model_steps": 10,
    "max_seconds": 60.0,
    "grader_seconds": 60.0,
    "setup_seconds": 60.0,
    "tool_seconds": 60.0,
}
"""Seconds that no trial takes, not even on a machine that is held up: whoever tests a deadline sets a short one."""


def answer(claim: Any, failure: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The event of a worker that delivered what the agent returned, or raised."""
    return {"kind": "agent_result", "claim": claim, "failure": failure}


ANSWERED = answer({"done": True})


def make_manifest(budgets: Mapping[str, float] | None = None, **changes: Any) -> Manifest:
    """A manifest of one clean condition; `budgets` change single budgets, `changes` top-level keys."""
    document = manifest_document(
        **{"conditions": [condition("clean", "clean")], "budgets": {**BUDGETS, **(budgets or {})}, **changes}
    )
    return Manifest.from_document(document)


def shell_arms(*argv: str, **changes: Any) -> dict[str, Any]:
    """`arms` of a manifest in which both run a command."""
    arms = manifest_document()["arms"]
    command = {"kind": "command", "ref": None, "argv": list(argv or ("./agent",)), "infra_exit_codes": [75], **changes}
    return {name: {**arm, **command} for name, arm in arms.items()}


def mcp_server(name: str = "files", **changes: Any) -> dict[str, Any]:
    """A server as a manifest holds it: started beside the recorder, of the empty state."""
    plain = {"name": name, "argv": ["server", "--in", "{workdir}"], "env": {}, "has_image": False}
    return {**plain, "snapshot": None, "crash": "error", **changes}


def snapshot(kind: str, **changes: Any) -> dict[str, Any]:
    """A server's `snapshot` as a manifest holds it."""
    return {"kind": kind, "tool": None, "arguments": {}, "uri": None, "paths": [], "ref": None, **changes}


def mcp(*servers: Mapping[str, Any], is_single: bool | None = None) -> dict[str, Any]:
    """`environment` of a manifest: one server alone is single unless said otherwise."""
    single = len(servers) == 1 if is_single is None else is_single
    return {"kind": "mcp", "ref": None, "servers": [dict(s) for s in servers], "is_single": single}


def first_trial(manifest: Manifest) -> Trial:
    return schedule(manifest)[0]


def setting_of(manifest: Manifest, host_env: Mapping[str, str] | None = None) -> Setting:
    return make_setting(manifest, host_env or {}, lambda: NOW)


class Starts:
    """Notes what is to be synced before each agent starts."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    async def __call__(self, trial_id: str, attempt: int) -> None:
        self.seen.append((trial_id, attempt))


async def make_trial(
    script: ScriptedTrial | FakeIsolation,
    manifest: Manifest | None = None,
    *,
    host_env: Mapping[str, str] | None = None,
    starts: Starts | None = None,
) -> TrialResult:
    """The first trial of the schedule, made as `script` says."""
    manifest = manifest or make_manifest()
    isolation = script if isinstance(script, FakeIsolation) else FakeIsolation(script)
    async with isolation.open(RunPlan("run", manifest, 1)) as slots:
        return await run_trial(slots, first_trial(manifest), setting_of(manifest, host_env), starts or Starts())


def outcome(result: TrialResult) -> str:
    """`FAIL crash agent`."""
    return " ".join(str(result.record[key]) for key in ("outcome", "ending", "blame"))
