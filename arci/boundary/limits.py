"""Contract and budgets: whether a call may be made. A violation is recorded; a budget used up latches. Pure."""

from __future__ import annotations

from arci.faults.answer import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional, Tuple

    from arci.boundary.journal import Journal
    from arci.boundary.terms import Terms

__all__ = ["TRAFFIC_BYTES", "Limits"]

TRAFFIC_BYTES = 128 * 1024 * 1024
"""What agent, environment and upstreams may send in one trial. All may be recorded, and the host takes half a GiB."""


class Limits:
    """Counts calls and model steps, each once."""

    def __init__(self, terms: Terms, journal: Journal, on_latch: Callable[[str], None]) -> None:
        """`on_latch`: told once, with what an agent may read, when a budget is used up."""
        self._terms = terms
        self._journal = journal
        self._on_latch = on_latch
        self._calls = 0
        self._steps = 0
        self._bytes = 0
        self._model_calls = 0
        self._decisions = 0
        self._tokens = 0
        self._usd = 0.0
        self._by_tool: Dict[str, int] = {}
        self._forbidden = set(terms.forbidden)
        self._caps = dict(terms.calls_per_tool)
        self.latched: Optional[str] = None
        """The text of the budget that is used up. From then on nothing is executed and nothing recorded: how many
        calls an agent still makes before it is stopped is a matter of time, and must not enter the trace."""

    def name_tools(self, canonical: Callable[[str], str]) -> None:
        """From now on the contract's tools go by the names under which calls are recorded."""
        self._forbidden = {canonical(tool) for tool in self._forbidden}
        self._caps = {canonical(tool): cap for tool, cap in self._caps.items()}

    def admit_call(self, tool: str) -> Optional[Answer]:
        """None if the call may be executed, else what the agent gets instead. Violations are recorded here."""
        self._calls += 1
        self._by_tool[tool] = self._by_tool.get(tool, 0) + 1
        broken = self._violation(tool)
        if broken is not None:
            self._journal.event("violation", invariant=broken[0], tool=tool, detail=broken[1])
        if self._calls > self._terms.budget_calls:
            return self.latched_answer(self._latch("max_tool_calls", self._terms.budget_calls))
        return None if broken is None else Answer.failure("refused", broken[1])

    def admit_step(self) -> bool:
        """Whether a model step is within its budget."""
        self._steps += 1
        if self._steps > self._terms.budget_steps:
            self._latch("max_model_steps", self._terms.budget_steps)
        return self.latched is None

    def admit_model_call(self) -> Optional[str]:
        """None if a model may be called, else the text of the budget that is used up."""
        terms = self._terms
        if terms.budget_tokens is not None and self._tokens >= terms.budget_tokens:
            return self._latch("max_tokens", terms.budget_tokens)
        if terms.budget_usd is not None and self._usd >= terms.budget_usd:
            return self._latch("max_usd", terms.budget_usd)
        self._model_calls += 1
        if terms.budget_model_calls is not None and self._model_calls > terms.budget_model_calls:
            return self._latch("max_model_calls", terms.budget_model_calls)
        return self.latched

    def count_usage(self, tokens: int, usd: float) -> None:
        """What an answer of a model took. A budget that is exactly used up latches with the next call."""
        terms = self._terms
        self._tokens += tokens
        self._usd += usd
        if terms.budget_tokens is not None and self._tokens > terms.budget_tokens:
            self._latch("max_tokens", terms.budget_tokens)
        if terms.budget_usd is not None and self._usd > terms.budget_usd:
            self._latch("max_usd", terms.budget_usd)

    def admit_decision(self, limit: Optional[int]) -> Optional[str]:
        """The same for a decision, of which there may be `limit`; it is a tool call besides."""
        self._decisions += 1
        if limit is not None and self._decisions > limit:
            return self._latch("max_decisions", limit)
        return self.latched

    def count_bytes(self, count: int) -> None:
        """Bytes that the agent, the environment or an upstream sent."""
        self._bytes += count
        if self._bytes > TRAFFIC_BYTES:
            self._latch("traffic_bytes", TRAFFIC_BYTES)

    def latched_answer(self, detail: str) -> Answer:
        return Answer.failure("budget", detail)

    def _violation(self, tool: str) -> Optional[Tuple[str, str]]:
        """The first invariant of the contract that the call breaks, and the text of it."""
        terms = self._terms
        cap = self._caps.get(tool)
        if tool in self._forbidden:
            return "forbidden_tools", f"tool {tool!r} is forbidden"
        if cap is not None and self._by_tool[tool] > cap:
            return "max_calls_per_tool", f"tool {tool!r} may be called {cap} times"
        if terms.contract_calls is not None and self._calls > terms.contract_calls:
            return "max_tool_calls", f"at most {terms.contract_calls} tool calls are allowed"
        return None

    def _latch(self, budget: str, limit: float) -> str:
        detail = f"budget {budget} of {limit} is used up"
        if self.latched is None:
            self.latched = detail
            self._journal.tell("latched", budget=budget)
            self._on_latch(detail)
        return detail
