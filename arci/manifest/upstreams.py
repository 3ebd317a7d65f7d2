"""Models and decisions of a valid descriptor as the manifest holds them, every default written out. Pure."""

from __future__ import annotations

from typing import Any

from arci.manifest.shape_upstreams import DecisionsShape, ModelShape, UpstreamEnvShape
from arci.model.upstream import DECISIONS

__all__ = ["AGENT_VARIABLES", "BASE_URLS", "KEYS", "decisions_document", "models_document"]

BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "systemone": "https://api.typesafe.ai",
}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "systemone": "TYPESAFE_API_KEY"}
AGENT_VARIABLES = {
    "openai": {"base_url": "OPENAI_BASE_URL", "key": "OPENAI_API_KEY"},
    "anthropic": {"base_url": "ANTHROPIC_BASE_URL", "key": "ANTHROPIC_API_KEY"},
    "systemone": {"base_url": "TYPESAFE_BASE_URL", "key": "TYPESAFE_API_KEY"},
}
"""What the official SDKs read."""


def models_document(models: dict[str, ModelShape]) -> list[dict[str, Any]]:
    """In the order in which they were written."""
    return [_model(name, model) for name, model in models.items()]


def decisions_document(decisions: DecisionsShape | None) -> dict[str, Any] | None:
    if decisions is None:
        return None
    place = _place("systemone", decisions.base_url, decisions.key, decisions.env)
    if decisions.upstream == "fixture":
        place["key"] = None  # nothing is called
    return {
        "name": DECISIONS,
        **decisions.model_dump(exclude={"base_url", "key", "env"}),
        **place,
    }


def _model(name: str, model: ModelShape) -> dict[str, Any]:
    return {
        "name": name,
        **model.model_dump(exclude={"base_url", "key", "env", "prices"}),
        **_place(model.kind, model.base_url, model.key, model.env),
        "prices": {
            of: {
                **price.model_dump(),
                "cached_input": price.input if price.cached_input is None else price.cached_input,
            }
            for of, price in model.prices.items()
        },
    }


def _place(kind: str, base_url: str | None, key: str | None, env: UpstreamEnvShape) -> dict[str, Any]:
    """A provider's key goes to that provider unless it is named: another address gets none by default."""
    given = {name: value for name, value in env.model_dump().items() if value is not None}
    return {
        "base_url": base_url or BASE_URLS[kind],
        "key": KEYS[kind] if base_url is None else key,
        "env": {**AGENT_VARIABLES[kind], **given},
    }
