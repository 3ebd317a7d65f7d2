"""The descriptor's models and decision endpoint as pydantic models. Pure.

Defaults that depend on the kind are in `upstreams`, rules across keys in `rules_upstreams`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from arci.manifest.fields import EnvName, Name, Reference, UpstreamUrl
from arci.manifest.forms import STRICT

__all__ = ["MOST_MODELS", "DecisionsShape", "ModelShape", "PriceShape", "UpstreamEnvShape"]

MOST_MODELS = 32

_Usd = Annotated[float, Field(ge=0, le=1_000_000)]
_PerMinute = Annotated[int, Field(ge=1, le=1_000_000)]
_AtOnce = Annotated[int, Field(ge=1, le=10_000)]
_Seconds = Annotated[float, Field(gt=0, le=86_400)]
_Bytes = Annotated[int, Field(ge=1024, le=64 << 20)]


class _Strict(BaseModel):
    model_config = STRICT


class UpstreamEnvShape(_Strict):
    """The agent's variables; those that the official SDKs read when left out."""

    base_url: EnvName | None = None
    key: EnvName | None = None


class PriceShape(_Strict):
    """USD for a million tokens."""

    input: _Usd
    output: _Usd
    cached_input: _Usd | None = None
    """As `input` when left out."""


class ModelShape(_Strict):
    """One provider of models."""

    kind: Literal["openai", "anthropic"]
    """The protocol that it speaks."""
    base_url: UpstreamUrl | None = None
    """The public provider's when left out."""
    key: EnvName | None = None
    """The host's variable that holds the key. Beside a `base_url`, none unless it is named."""
    model: Name | None = None
    """The one model that may be asked; any when left out."""
    env: UpstreamEnvShape = UpstreamEnvShape()
    max_requests_per_minute: _PerMinute = 600
    concurrency: _AtOnce = 16
    """Calls at once, over all trials."""
    request_seconds: _Seconds = 60.0
    """Until the head of an answer, and between any two pieces of it."""
    max_body_bytes: _Bytes = 4 << 20
    prices: Annotated[dict[Name, PriceShape], Field(max_length=1000)] = {}
    """By model; `*` for any other."""


class DecisionsShape(_Strict):
    """A System One endpoint."""

    upstream: Literal["fixture", "http"]
    fixture: Reference | None = None
    """`(request, seed, occurrence) -> answer`."""
    base_url: UpstreamUrl | None = None
    key: EnvName | None = None
    model: Name
    """The one model that may be asked."""
    env: UpstreamEnvShape = UpstreamEnvShape()
    max_decisions: Annotated[int, Field(ge=1, le=100_000)] = 50
    request_seconds: _Seconds = 5.0
    max_body_bytes: _Bytes = 256 << 10
    max_requests_per_minute: _PerMinute = 600
    concurrency: _AtOnce = 16
