"""The outside calls of one attempt, between its recorder and the run's egress: handed on, counted, compared at the end.

What fails outside through no doing of the agent's is trouble of the machine's: the trial is ERROR and names the
upstream. While a request waits for its pace the agent's clock stands still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from arci.model.trial import Blame
from arci.model.upstream import DECISION_TOOL, DECISIONS
from arci.run.channel import Channel
from arci.run.conversation import Conversation
from arci.run.egress.requests import parse_request
from arci.run.pulse import Pulse
from arci.run.setting import Setting

if TYPE_CHECKING:
    from arci.run.egress.trial import TrialEgress

__all__ = ["Upstreams", "ignore", "miscount"]

_LOOKUPS = frozenset({"/v1/messages/count_tokens"})
"""Posted, and yet no call of a model: no event tells of it."""


class Upstreams:
    """`asked`: upstream -> calls that the recorder asked for, as the host counts them."""

    def __init__(self, conversation: Conversation, pulse: Pulse) -> None:
        self.asked: Counter[str] = Counter()
        self._names: dict[Any, str] = {}
        """Request -> upstream."""
        self._conversation = conversation
        self._pulse = pulse
        self._trial: TrialEgress | None = None
        self._told = 0

    @property
    def paused_s(self) -> float:
        """Seconds for which a request of the agent waited for its pace, and not for the upstream."""
        return self._trial.waited_s if self._trial is not None else 0.0

    @asynccontextmanager
    async def open(self, channel: Channel, setting: Setting) -> AsyncIterator[None]:
        """Serves the recorder's requests; at the end what is under way is closed.

        What is asked later, for an agent that is gone, is counted alone.
        """
        if setting.egress is None:
            yield
            return

        async def send(frame: dict[str, Any]) -> None:
            self._tell_failures(self._names.get(frame["request"], ""))
            await channel.send(frame)

        async with setting.egress.for_trial(send) as self._trial:
            self._conversation.on_upstream = self._take
            try:
                yield
            finally:
                self._conversation.on_upstream = self._count
        self._tell_failures("")

    def _take(self, frame: Mapping[str, Any]) -> None:
        assert self._trial is not None
        self._trial.take(frame)
        self._count(frame)

    def _count(self, frame: Mapping[str, Any]) -> None:
        if frame["type"] != "upstream_request":
            return
        request = parse_request(frame)
        self._names[request.number] = request.upstream
        is_lookup = request.method == "GET" or request.path.partition("?")[0] in _LOOKUPS
        self.asked[request.upstream] += not is_lookup

    def _tell_failures(self, name: str) -> None:
        if self._trial is None:
            return
        for failure in self._trial.failures[self._told :]:
            whose = f"upstream {name}" if name else "an upstream"
            self._conversation.trouble(Blame.MACHINE, f"{whose}: {failure.kind}: {failure.detail}")
            self._pulse.beat()
        self._told = len(self._trial.failures)


def ignore(frame: Mapping[str, Any]) -> None:
    """Of an agent that is only to be seen starting."""


def miscount(asked: Mapping[str, int], events: Sequence[Mapping[str, Any]], *, has_fixture: bool = False) -> str | None:
    """How host and recording differ in the calls that went out; None where they agree. `has_fixture`: decisions are
    answered in the pod."""
    told: Counter[str] = Counter()
    for event in events:
        if event.get("executed") is True and event["kind"] == "model_finish":
            told[str(event.get("upstream"))] += 1
        elif event.get("executed") is True and event["kind"] == "tool_finish" and event.get("tool") == DECISION_TOOL:
            told[DECISIONS] += not has_fixture
    for name in sorted({*asked, *told}):
        if asked.get(name, 0) != told[name]:
            return (
                f"upstream {name}: the host was asked for {asked.get(name, 0)} calls, the recording tells {told[name]}"
            )
    return None
