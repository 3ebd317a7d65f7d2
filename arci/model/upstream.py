"""What an agent may ask outside its pod, as a sealed manifest holds it: models, and a decision endpoint. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DECISIONS", "DECISION_TOOL", "Decisions", "Model", "UpstreamEnv", "decisions_of", "model_of"]

DECISION_TOOL = "decision:systemone"
"""The tool that a decision is recorded, counted and faulted as."""
DECISIONS = "decisions"
"""The name of the endpoint."""


@dataclass(frozen=True, slots=True)
class UpstreamEnv:
    """The agent's variables: the address it calls, and the trial's token in place of a key."""

    base_url: str
    key: str


@dataclass(frozen=True, slots=True)
class Model:
    """One provider of models."""

    name: str
    kind: str
    """`openai` or `anthropic`."""
    base_url: str
    key: str | None
    """The host's variable that holds the key; None for a call without one."""
    model: str | None
    """The one model that may be asked; None: any."""
    env: UpstreamEnv
    max_requests_per_minute: int
    concurrency: int
    request_seconds: float
    max_body_bytes: int
    prices: dict[str, dict[str, float]]
    """Model, or `*` for any other -> `input`, `output`, `cached_input`: USD for a million tokens."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decision endpoint. `upstream` is `fixture` (`fixture` is `module:function`) or `http` (`base_url`, `key`)."""

    name: str
    upstream: str
    fixture: str | None
    base_url: str
    key: str | None
    model: str
    env: UpstreamEnv
    max_decisions: int
    request_seconds: float
    max_body_bytes: int
    max_requests_per_minute: int
    concurrency: int


def model_of(value: Mapping[str, Any]) -> Model:
    """The typed view of an entry of a manifest document's `models`. KeyError or TypeError on a malformed one."""
    prices = {name: dict(price) for name, price in value["prices"].items()}
    return Model(**{**value, "env": UpstreamEnv(**value["env"]), "prices": prices})


def decisions_of(value: Mapping[str, Any] | None) -> Decisions | None:
    """The same of `decisions`."""
    return None if value is None else Decisions(**{**value, "env": UpstreamEnv(**value["env"])})
