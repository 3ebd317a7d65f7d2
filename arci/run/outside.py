"""The way out of a run: opened where its manifest names upstreams that are called, and only then imported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any

from arci.errors import Problem, SpecError
from arci.model.manifest import Manifest
from arci.run.setting import Setting

__all__ = ["calls_outside", "declared", "outside_problems", "pace_warnings", "told_facts", "where", "with_egress"]


def calls_outside(manifest: Manifest) -> bool:
    """True if a trial may make the host call something."""
    return bool(manifest.models) or (manifest.decisions is not None and manifest.decisions.upstream == "http")


def declared(manifest: Manifest) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """`models` and `decisions` of the manifest's document."""
    return [asdict(model) for model in manifest.models], asdict(manifest.decisions) if manifest.decisions else None


def where(manifest: Manifest) -> str:
    """What a problem of the descriptor names."""
    return str(manifest.volatile.get("descriptor", manifest.experiment_id))


def outside_problems(setting: Setting) -> list[Problem]:
    """What of the upstreams refuses a run: a key that this machine allows no such host, or that is not set."""
    manifest = setting.manifest
    if not calls_outside(manifest):
        return []
    from arci.run.egress.allowances import read_allowances
    from arci.run.egress.check import upstream_problems

    env = setting.host_env
    try:
        return upstream_problems(*declared(manifest), read_allowances(env), env, where(manifest))
    except SpecError as error:  # what says which hosts are allowed is itself wrong
        return list(error.problems)


def pace_warnings(manifest: Manifest, workers: int) -> list[str]:
    """Where more trials would wait at once than may call an upstream at once."""
    called = [(model.name, model.concurrency) for model in manifest.models]
    return [
        f"models.{name}: {workers} workers, and concurrency {most} calls at once; the others wait for their turn"
        for name, most in called
        if workers > most
    ]


@asynccontextmanager
async def with_egress(setting: Setting) -> AsyncIterator[Setting]:
    """The setting with a way out, which is closed at the end. SpecError where key, host or address may not be used.

    A replay has none: what is asked is answered from its recording.
    """
    manifest = setting.manifest
    if setting.replay is not None or not calls_outside(manifest):
        yield setting
        return
    from arci.run.egress.egress import open_egress

    models, decisions = declared(manifest)
    budget = manifest.budgets.max_model_calls
    async with open_egress(
        models, decisions, setting.host_env, max_model_calls=budget, where=where(manifest)
    ) as egress:
        yield replace(setting, egress=egress)


def told_facts(setting: Setting) -> list[str]:
    """What of the outside calls a person should read when a run is over: sent again, throttled, held back."""
    told = []
    for name, facts in (setting.egress.facts() if setting.egress else {}).items():
        if facts["resends"] or facts["throttled"] or facts["waited_s"] >= 1:
            told.append(
                f"{name}: {facts['requests']} requests, {facts['resends']} sent again, {facts['throttled']} throttled; "
                f"calls waited {facts['waited_s']:.0f} s for their turn"
            )
    return told
