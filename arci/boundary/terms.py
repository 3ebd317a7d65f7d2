"""What the host's `begin` frame lays down for one trial, read once. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, FrozenSet, List, Mapping, Optional

__all__ = ["ServerTerms", "Terms", "UpstreamTerms"]


class ServerTerms:
    """One MCP server of the environment."""

    __slots__ = ("argv", "env", "name", "snapshot", "task_file", "workdir")

    def __init__(self, server: Mapping[str, Any]) -> None:
        self.name: str = server["name"]
        self.argv: Optional[List[str]] = list(server["argv"]) if server["argv"] else None
        """None: it runs in a container of its own and connects."""
        self.env: Dict[str, str] = dict(server["env"])
        self.workdir: str = server["workdir"]
        self.task_file: str = server["task_file"]
        self.snapshot: Optional[Dict[str, Any]] = server["snapshot"]


class UpstreamTerms:
    """One model or decision endpoint that the agent may ask through the host."""

    __slots__ = ("fixture", "kind", "max_body_bytes", "max_decisions", "model", "name", "prices")

    def __init__(self, upstream: Mapping[str, Any]) -> None:
        self.name: str = upstream["name"]
        self.kind: str = upstream["kind"]
        """`openai`, `anthropic` or `systemone`."""
        if self.kind not in ("openai", "anthropic", "systemone"):
            raise ValueError(f"upstream {self.name!r} of kind {self.kind!r}")
        self.model: Optional[str] = upstream.get("model")
        """The one model that may be asked for; None: any."""
        self.max_body_bytes: int = upstream["max_body_bytes"]
        self.prices: Dict[str, Dict[str, float]] = dict(upstream.get("prices") or {})
        """Model or `*` -> USD per million tokens of `input`, `output` and `cached_input`."""
        self.max_decisions: Optional[int] = upstream.get("max_decisions")
        self.fixture: Optional[str] = upstream.get("fixture")
        """`module:function` that answers decisions in place of the host's upstream."""


class Terms:
    """The trial, its contract, its budgets and its faults. Never changed."""

    def __init__(self, begin: Mapping[str, Any]) -> None:
        """KeyError, TypeError or ValueError if the frame lacks something."""
        trial, contract, budgets = begin["trial"], begin["contract"], begin["budgets"]
        listen = begin["listen"]
        self.listen: List[str] = [listen] if isinstance(listen, str) else list(listen)
        self.agent_token: str = begin["tokens"]["agent"]
        self.status_token: str = begin["tokens"]["status"]
        self.environment_token: Optional[str] = begin["tokens"].get("environment")
        """None only where no server connects."""
        self.servers = [ServerTerms(server) for server in begin.get("servers", ())]
        """Empty with a toolset."""
        self.upstreams = [UpstreamTerms(upstream) for upstream in begin.get("upstreams", ())]
        self.trial_id: str = trial["trial_id"]
        self.seed: int = trial["seed"]
        self.task: Dict[str, Any] = trial["task"]
        self.rng_state: Any = trial.get("rng_state")
        """Of the generator that a Python agent is given; None for other agents."""
        self.contract_calls: Optional[int] = contract["max_tool_calls"]
        self.forbidden: FrozenSet[str] = frozenset(contract["forbidden_tools"])
        self.calls_per_tool: Dict[str, int] = dict(contract["max_calls_per_tool"])
        self.budget_calls: int = budgets["max_tool_calls"]
        self.budget_steps: int = budgets["max_model_steps"]
        self.budget_model_calls: Optional[int] = budgets.get("max_model_calls")
        self.budget_tokens: Optional[int] = budgets.get("max_tokens")
        self.budget_usd: Optional[float] = budgets.get("max_usd")
        self.tool_s = float(budgets["tool_seconds"])
        self.setup_s = float(budgets["setup_seconds"])
        self.replay: Optional[Dict[str, Any]] = begin.get("replay")
        """A recorded trial that answers in place of environment and upstreams; see `replay`."""
        self.is_rehearsal = bool(begin.get("rehearsal", False))
        """A worker that is ready waits for ever: it is only to be seen whether it starts."""
        self.faults: List[Dict[str, Any]] = list(begin["faults"])
