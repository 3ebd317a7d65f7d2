"""Models and decisions of one trial, put together. Imported where a trial has upstreams alone. Sans-io."""

from __future__ import annotations

import sys

from arci.boundary.outside import Outside
from arci.boundary.upstream_site import UpstreamSite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.decision_fixture import Fixture, FixtureArgv
    from arci.boundary.decisions import Decisions
    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.lookups import Lookups
    from arci.boundary.model_calls import ModelCalls
    from arci.boundary.numbering import Numbering
    from arci.boundary.replay import Replay
    from arci.boundary.terms import Terms, UpstreamTerms
    from arci.boundary.upstream_site import Upstream
    from arci.faults.plan import FaultPlan

__all__ = ["UpstreamSide"]


class UpstreamSide:
    """`site` serves them on the HTTP port; `take` hears the host; `settle` ends what is open once the agent is gone."""

    def __init__(
        self,
        journal: Journal,
        terms: Terms,
        plan: FaultPlan,
        limits: Limits,
        alarms: Alarms,
        numbering: Numbering,
        fixture_argv: Optional[FixtureArgv],
        replay: Optional[Replay] = None,
    ) -> None:
        """`replay`: the recording that answers in place of host and fixture."""
        self._replay = replay
        self._journal = journal
        self._terms = terms
        self._limits = limits
        self._plan = plan
        self._alarms = alarms
        self._numbering = numbering
        self._fixture_argv = fixture_argv
        self._outside = Outside(journal, limits.count_bytes)
        self._calls: Optional[ModelCalls] = None
        self._lookups: Optional[Lookups] = None
        self._decisions: List[Decisions] = []
        self.fixtures: List[Fixture] = []
        upstreams: Dict[str, Upstream] = {u.name: self._upstream(u) for u in terms.upstreams}
        self.site = UpstreamSite(terms.agent_token, upstreams, terms.is_rehearsal)

    def take(self, frame: Dict[str, Any]) -> None:
        """A frame of the host about a request."""
        self._outside.take(frame)

    def settle(self) -> None:
        for part in (self._calls, self._lookups, *self._decisions):
            if part is not None:
                part.settle()
        for fixture in self.fixtures:
            fixture.stop()

    def _upstream(self, upstream: UpstreamTerms) -> Upstream:
        shapes = _shapes(upstream.kind)
        if upstream.kind == "systemone":
            return self._decider(upstream, shapes)
        from arci.boundary.lookups import Lookups
        from arci.boundary.model_calls import ModelCalls
        from arci.boundary.model_upstream import ModelUpstream

        if self._calls is None or self._lookups is None:
            self._calls = ModelCalls(self._journal, self._limits, self._plan, self._alarms, self._outside, self._replay)
            most = self._terms.budget_model_calls
            self._lookups = Lookups(self._journal, self._limits, self._outside, most, self._replay)
        return ModelUpstream(upstream, shapes, self._calls, self._lookups)

    def _decider(self, upstream: UpstreamTerms, shapes: Any) -> Upstream:
        from arci.boundary.decisions import Decisions

        reference = upstream.fixture if self._replay is None else None
        fixture = None if reference is None else (self._started(reference), self._terms.seed)
        parts = (self._journal, self._limits, self._plan, self._numbering, self._outside)
        decisions = Decisions(upstream, shapes, *parts, fixture, self._replay)
        self._decisions.append(decisions)
        return decisions

    def _started(self, reference: str) -> Fixture:
        """At once: a fixture that cannot be imported is no surprise in the middle of a trial."""
        from arci.boundary.decision_fixture import Fixture

        if self._fixture_argv is None:
            raise RuntimeError(f"no decision fixture can be called here, {reference} neither")
        fixture = Fixture(self._journal, self._alarms, self._terms.tool_s)
        self.fixtures.append(fixture)
        fixture.start(*self._fixture_argv(reference))
        return fixture


def _shapes(kind: str) -> Any:
    """The module of an API."""
    module = f"arci.boundary.{kind}_shapes"
    __import__(module)
    return sys.modules[module]
