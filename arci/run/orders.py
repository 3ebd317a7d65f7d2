"""The recorder's orders for one trial: the `begin` frame of docs/reference/control-channel.md. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from random import Random
from typing import Any

from arci.isolation.base import Pod
from arci.model.manifest import Budgets, Contract, FaultSpec, Manifest, Server
from arci.model.trial import Trial
from arci.run.attempt import Attempt
from arci.run.places import server_argv, server_task_file, server_workdir

__all__ = ["begin_frame"]


def begin_frame(pod: Pod, attempt: Attempt, rehearsed: Sequence[FaultSpec] | None = None) -> dict[str, Any]:
    """What the trial is to be. `rehearsed`: it is only to be seen whether everything starts, these faults instead of
    the condition's among it; the agent's work does not begin."""
    manifest, trial = attempt.manifest, attempt.trial
    replay, servers = attempt.replay, manifest.environment.servers
    faults = manifest.condition(trial.condition_id).faults if rehearsed is None else rehearsed
    return {
        "type": "begin",
        "listen": [pod.listen] if pod.listen_http is None else [pod.listen, pod.listen_http],
        "tokens": {
            "agent": attempt.agent_token,
            "status": attempt.status_token,
            "environment": attempt.environment_token,
        },
        "servers": [_server(pod, server, trial.seed) for server in servers if replay is None],
        "trial": {
            "trial_id": trial.trial_id,
            "seed": trial.seed,
            "task": trial.task,
            "rng_state": _rng(manifest, trial),
        },
        "contract": _contract(manifest.contract),
        "budgets": _budgets(manifest.budgets),
        "upstreams": _upstreams(manifest),
        "faults": [asdict(fault) for fault in faults if replay is None],
        "rehearsal": rehearsed is not None,
        **({} if replay is None else {"replay": replay.order()}),
    }


def _rng(manifest: Manifest, trial: Trial) -> Any:
    """The state with which a Python agent's generator begins; drawn up here, where `random` is imported anyway.

    Not the seed: an agent that knew it could draw what the world and the faults draw.
    """
    is_python = manifest.arms[trial.arm].kind == "python"
    return Random(f"{trial.seed}:agent").getstate() if is_python else None


def _contract(contract: Contract) -> dict[str, Any]:
    return {
        "max_tool_calls": contract.max_tool_calls,
        "forbidden_tools": list(contract.forbidden_tools),
        "max_calls_per_tool": contract.max_calls_per_tool,
    }


def _budgets(budgets: Budgets) -> dict[str, Any]:
    return {
        "max_tool_calls": budgets.max_tool_calls,
        "max_model_steps": budgets.max_model_steps,
        "tool_seconds": budgets.tool_seconds,
        "setup_seconds": budgets.setup_seconds,
        "max_model_calls": budgets.max_model_calls,
        "max_tokens": budgets.max_tokens,
        "max_usd": budgets.max_usd,
    }


def _upstreams(manifest: Manifest) -> list[dict[str, Any]]:
    """What the agent may call under which name. Addresses and keys are the host's business."""
    models = [
        {
            "name": model.name,
            "kind": model.kind,
            "model": model.model,
            "max_body_bytes": model.max_body_bytes,
            "prices": model.prices,
            "max_decisions": None,
            "fixture": None,
        }
        for model in manifest.models
    ]
    decisions = manifest.decisions
    if decisions is None:
        return models
    endpoint = {
        "name": decisions.name,
        "kind": "systemone",
        "model": decisions.model,
        "max_body_bytes": decisions.max_body_bytes,
        "prices": {},
        "max_decisions": decisions.max_decisions,
        "fixture": decisions.fixture,
    }
    return [*models, endpoint]


def _server(pod: Pod, server: Server, seed: int) -> dict[str, Any]:
    """`argv` is null for one that runs in a container of its own, and dials in."""
    return {
        "name": server.name,
        "argv": None if server.has_image else list(server_argv(pod, server, seed)),
        "env": server.env,
        "workdir": server_workdir(pod, server.name),
        "task_file": server_task_file(pod, server.name),
        "snapshot": None if server.snapshot is None else asdict(server.snapshot),
    }
