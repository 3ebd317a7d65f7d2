"""Rules across keys: models, decisions, what pays for them, and keys that must stay on the host. Pure, and as tolerant
of wrong types as `rules`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arci.manifest.complaints import show
from arci.manifest.rules import items, mapping
from arci.manifest.rules_places import secret_name
from arci.manifest.source import Finding, dotted
from arci.manifest.strict_yaml import Path
from arci.manifest.upstreams import AGENT_VARIABLES, KEYS
from arci.model.trial import ARMS

__all__ = ["upstream_findings"]

Place = tuple[Path, str, Mapping[str, Any]]
"""Where an upstream stands, its kind, and what it says."""


def upstream_findings(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything wrong in models, decisions, and what arms and secrets say of their variables."""
    places = list(_places(data))
    yield from _decisions(data.get("decisions"))
    yield from _variables(data, places)
    yield from _keys(data, places)
    yield from _budgets(data)


def _places(data: Mapping[str, Any]) -> Iterator[Place]:
    for name, model in mapping(data, "models").items():
        if isinstance(model, dict) and model.get("kind") in ("openai", "anthropic"):
            yield ("models", name), model["kind"], model
    if isinstance(data.get("decisions"), dict):
        yield ("decisions",), "systemone", data["decisions"]


def _decisions(decisions: Any) -> Iterator[Finding]:
    if not isinstance(decisions, dict):
        return
    upstream, fixture = decisions.get("upstream"), decisions.get("fixture")
    if upstream == "fixture" and fixture is None:
        yield Finding(("decisions", "fixture"), "is missing; module:function is required, or upstream: http.")
    if upstream == "http" and fixture is not None:
        yield Finding(("decisions", "fixture"), "stands beside upstream: http, which would not call it; one of both.")
    for key in ("base_url", "key"):
        if upstream == "fixture" and decisions.get(key) is not None:
            yield Finding(("decisions", key), "stands beside upstream: fixture, which calls nothing; leave it out.")


def _variables(data: Mapping[str, Any], places: list[Place]) -> Iterator[Finding]:
    """Each variable of the agent has one meaning."""
    first: dict[str, str] = {}
    for path, kind, upstream in places:
        given = mapping(upstream, "env")
        for role, usual in AGENT_VARIABLES[kind].items():
            name = given.get(role) or usual
            where = (*path, "env", role) if given.get(role) else path
            owner = dotted((*path, "env", role))
            if not isinstance(name, str):
                continue
            if name.startswith("ARCI_"):
                yield Finding(where, f"{show(name)} is ARCI's own to set; another name.")
            if first.setdefault(name, owner) != owner:
                message = f"{show(name)} is also the agent's variable of {first[name]}; each has a variable of its own."
                yield Finding(where, message, f"name others under env of {dotted(path)}.")
    for path, name, _ in _arm_variables(data):
        if name in first:
            yield Finding(path, f"{show(name)} is what the agent is given by {first[name]}; leave it out.")


def _keys(data: Mapping[str, Any], places: list[Place]) -> Iterator[Finding]:
    """A key that a container could read would not be the host's alone."""
    keys = {key: dotted(path) for path, kind, upstream in places if (key := _key(kind, upstream))}
    reason = "keys stay on the host: the agent calls the boundary with a token of its trial"
    for position, secret in enumerate(items(data, "secrets")):
        if isinstance(secret, str) and secret in keys:
            message = f"{show(secret)} is the key of {keys[secret]}, and {reason}; leave it out."
            yield Finding(("secrets", position), message)
    for path, _, value in _arm_variables(data):
        secret = secret_name(value) if isinstance(value, str) else None
        if secret in keys:
            message = f"{show(value)} would hand the agent the key of {keys[secret]}, and {reason}; leave it out."
            yield Finding(path, message)


def _key(kind: str, upstream: Mapping[str, Any]) -> str | None:
    if upstream.get("upstream") == "fixture":
        return None
    key = upstream.get("key")
    if key is None and upstream.get("base_url") is None:
        return KEYS[kind]
    return key if isinstance(key, str) else None


def _arm_variables(data: Mapping[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    for arm in ARMS:
        declared = mapping(data, arm)
        for path, holder in (((arm,), declared), ((arm, "command"), mapping(declared, "command"))):
            for name, value in mapping(holder, "env").items():
                yield (*path, "env", name), name, value


def _budgets(data: Mapping[str, Any]) -> Iterator[Finding]:
    budgets, models = mapping(data, "budgets"), mapping(data, "models")
    for key in ("max_tokens", "max_usd"):
        if budgets.get(key) is not None and not models:
            yield Finding(("budgets", key), "is set, and there are no models to use it up; models, or leave it out.")
    if budgets.get("max_usd") is None:
        return
    for name, model in models.items():
        if isinstance(model, dict):
            prices, pinned = mapping(model, "prices"), model.get("model")
            if "*" not in prices and (pinned is None or (isinstance(pinned, str) and pinned not in prices)):
                of = "'*' (any model may be asked)" if pinned is None else f"{show(pinned)} or '*'"
                message = f"say nothing of {of}, and budgets.max_usd counts by them; a price for it is required."
                yield Finding(("models", name, "prices"), message)
