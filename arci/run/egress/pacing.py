"""When a request may go out to one upstream: its rate, how many at once, whose turn it is. Pure; the clock is given.

Waiting requests go in the order in which they first asked. The number at once adapts as TCP does: halved when the
upstream says that it is too much, one more for each full round of answers, never above what is declared.
"""

from __future__ import annotations

from bisect import insort

__all__ = ["Pace"]

_EPSILON = 1e-9


class Pace:
    """State of one upstream. Tickets are whole numbers, smaller ones go first."""

    def __init__(self, per_minute: int, concurrency: int, now_s: float) -> None:
        """`per_minute` >= 1 is never exceeded in any 60 s; `concurrency` >= 1."""
        self.limit = concurrency
        """How many may be under way at once, as of now."""
        self._declared = concurrency
        self._burst = max(1, min(concurrency, per_minute // 10))
        # Half-open 60 s see at most what the bucket holds and less than what flows in: burst + (rate * 60) - 1.
        self._per_second = (per_minute - self._burst + 1) / 60
        self._tokens = float(self._burst)
        self._filled_s = now_s
        self._held_until_s = now_s
        self._waiting: list[int] = []
        self._under_way: dict[int, int] = {}
        self._next = 0
        self._round = 0
        self._answers = 0

    def ask(self) -> int:
        """A new ticket, which waits from now on."""
        self._next += 1
        self._waiting.append(self._next)
        return self._next

    def ask_again(self, ticket: int) -> None:
        """A ticket whose request goes out once more waits in its old place."""
        insort(self._waiting, ticket)

    def leave(self, ticket: int) -> None:
        """A ticket that still waits does so no longer."""
        self._waiting.remove(ticket)

    def hold(self, until_s: float) -> None:
        """Nothing goes out before that time: the upstream has said so."""
        self._held_until_s = max(self._held_until_s, until_s)

    def admit(self, now_s: float) -> tuple[list[int], float | None]:
        """The tickets that go out now, and in how many seconds to ask again (None: when something changes)."""
        self._fill(now_s)
        admitted: list[int] = []
        while self._waiting and len(self._under_way) < self.limit and self._delay_s(now_s) <= 0:
            self._tokens -= 1
            ticket = self._waiting.pop(0)
            self._under_way[ticket] = self._round
            admitted.append(ticket)
        if not self._waiting or len(self._under_way) >= self.limit:
            return admitted, None
        return admitted, self._delay_s(now_s)

    def answered(self, ticket: int) -> None:
        """A request has ended with an answer that does not say `too much`."""
        del self._under_way[ticket]
        self._answers += 1
        if self._answers >= self.limit:
            self._answers = 0
            self.limit = min(self._declared, self.limit + 1)

    def throttled(self, ticket: int) -> None:
        """The upstream has said `too much`. The requests of one round halve the limit once, not once each."""
        if self._under_way.pop(ticket) == self._round:
            self._round += 1
            self._answers = 0
            self.limit = max(1, self.limit // 2)

    def broken(self, ticket: int) -> None:
        """A request has ended without an answer: nothing is learnt from it."""
        del self._under_way[ticket]

    def _fill(self, now_s: float) -> None:
        gained = max(0.0, now_s - self._filled_s) * self._per_second
        self._tokens = min(float(self._burst), self._tokens + gained)
        self._filled_s = max(self._filled_s, now_s)

    def _delay_s(self, now_s: float) -> float:
        missing = 1 - self._tokens
        token_s = missing / self._per_second if missing > _EPSILON else 0.0
        return max(token_s, self._held_until_s - now_s, 0.0)
