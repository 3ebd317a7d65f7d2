"""The packages, in what version, and by what they call their model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CLIENTS", "FAULTS", "MODES", "NODE", "Client", "Fault"]

NODE = "22.20.0"
MODES = {"baseline": "plain", "candidate": "stream"}
"""Both arms of an experiment are one program: how its answers come."""


@dataclass(frozen=True, slots=True)
class Client:
    id: str
    """Part of experiment ids and names of folders."""
    title: str
    source: str
    """Folder below `clients/`; the image is that of `tests/matrix/clients/<source>`."""
    program: str
    packages: tuple[str, ...]
    """As its registry's client takes them; the first is the one that is looked at."""
    kind: str
    """Of the model: `openai` or `anthropic`."""
    steps: tuple[str, ...]
    """Of its session."""
    route: str
    """What its one call asks, the same in its session's first step."""

    @property
    def version(self) -> str:
        separator = "@" if self.source == "node" else "=="
        return self.packages[0].rpartition(separator)[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """As a condition has it, on every call."""

    name: str
    params: dict[str, int]


FAULTS = (
    Fault("model_timeout", {}),
    Fault("model_rate_limited", {"retry_after_s": 1}),
    Fault("model_error", {}),
    Fault("model_overloaded", {}),
    Fault("model_truncated_stream", {}),
    Fault("model_slow", {"ms": 500}),
    Fault("model_malformed", {}),
    Fault("model_empty", {}),
)

CLIENTS = (
    Client(
        id="openai-python",
        title="openai, Python",
        source="python",
        program="openai_sdk.py",
        packages=("openai==3.57.0",),
        kind="openai",
        steps=("chat", "tool", "responses", "embeddings"),
        route="/chat/completions",
    ),
    Client(
        id="anthropic-python",
        title="anthropic, Python",
        source="python",
        program="anthropic_sdk.py",
        packages=("anthropic==2.14.0",),
        kind="anthropic",
        steps=("messages", "tool"),
        route="/v1/messages",
    ),
    Client(
        id="openai-node",
        title="openai, JavaScript",
        source="node",
        program="openai_sdk.mjs",
        packages=("openai@7.59.0",),
        kind="openai",
        steps=("chat", "tool", "responses", "embeddings"),
        route="/chat/completions",
    ),
    Client(
        id="anthropic-node",
        title="@anthropic-ai/sdk, JavaScript",
        source="node",
        program="anthropic_sdk.mjs",
        packages=("@anthropic-ai/sdk@1.14.0",),
        kind="anthropic",
        steps=("messages", "tool"),
        route="/v1/messages",
    ),
    Client(
        id="langchain",
        title="LangChain",
        source="python",
        program="langchain_agent.py",
        packages=("langchain==1.5.2", "langchain-openai==1.7.4"),
        kind="openai",
        steps=("chat", "agent"),
        route="/chat/completions",
    ),
    Client(
        id="pydantic-ai",
        title="pydantic-ai",
        source="python",
        program="pydantic_ai_agent.py",
        packages=("pydantic-ai-slim[openai]==2.68.0",),
        kind="openai",
        steps=("chat", "agent"),
        route="/chat/completions",
    ),
    Client(
        id="openai-agents",
        title="openai-agents",
        source="python",
        program="openai_agents_agent.py",
        packages=("openai-agents==0.24.0",),
        kind="openai",
        steps=("chat", "agent"),
        route="/responses",
    ),
)
