"""Requests that no model works for (lists, token counts): relayed and recorded, but not budgeted. Sans-io."""

from __future__ import annotations

from arci.boundary.model_delivery import Delivery
from arci.boundary.model_record import kept_body
from arci.boundary.replay_model import play

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.model_call import Asked
    from arci.boundary.outside import Outside
    from arci.boundary.replay import Replay

__all__ = ["MOST_LOOKUPS", "Lookups"]

MOST_LOOKUPS = 50
"""In one trial, unless more calls of models are allowed: the host makes no more of them than of these."""


class Lookups:
    def __init__(
        self, journal: Journal, limits: Limits, outside: Outside, most: Optional[int], replay: Optional[Replay] = None
    ) -> None:
        self._replay = replay
        self._journal = journal
        self._limits = limits
        self._outside = outside
        self._left = MOST_LOOKUPS if most is None else most
        self._open: Dict[int, Callable[[Optional[str], str], None]] = {}

    def arrive(self, asked: Asked, method: str) -> None:
        """Answers `asked.exchange`."""
        self._left -= 1
        if self._limits.latched is not None or self._left < 0:
            asked.refuse(403, self._limits.latched or "too many requests of this kind in one trial")
            return
        if self._replay is not None:
            self._serve(asked, method, self._replay)
            return
        numbers: List[int] = []

        def done(failure: Optional[str], detail: str) -> None:
            if self._open.pop(numbers[0], None) is None:
                return
            self._record(asked, method, delivery, failure)
            if failure is None:
                delivery.finish()
            else:
                delivery.refuse(502, asked.shapes.error(502, "the upstream gave no answer"))

        delivery = Delivery(asked.exchange, True, done)
        text = asked.data.decode("utf-8")
        numbers.append(self._outside.ask(asked.upstream.name, method, asked.path, asked.headers, text, delivery))
        self._open[numbers[0]] = done
        asked.exchange.when_hung_up(lambda: self._given_up(numbers[0]))

    def _serve(self, asked: Asked, method: str, replay: Replay) -> None:
        """Answer out of a recording."""
        delivery = Delivery(asked.exchange, True, lambda failure, detail: None)
        found = replay.take("lookup", f"{asked.upstream.name} {method} {asked.path}", asked.body)
        failure = "failed" if found is None else found["error_kind"]
        if found is not None:
            play(delivery, found)
        self._record(asked, method, delivery, failure)
        if failure is None:
            delivery.finish()
        elif failure != "cancelled":
            delivery.refuse(502, asked.shapes.error(502, "the upstream gave no answer"))

    def settle(self) -> None:
        for number in list(self._open):
            self._given_up(number)

    def _given_up(self, number: int) -> None:
        self._outside.cancel(number)
        done = self._open.get(number)
        if done is not None:
            done("cancelled", "")

    def _record(self, asked: Asked, method: str, delivery: Delivery, failure: Optional[str]) -> None:
        said: Dict[str, Any] = {"status": delivery.status, "response": kept_body(delivery.body, delivery.streams)}
        about = {"upstream": asked.upstream.name, "method": method, "path": asked.path, "request": asked.body}
        self._journal.event("upstream_lookup", **about, **said, error_kind=failure)
