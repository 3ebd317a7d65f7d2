"""One call of a trial from its turn to the last piece of its answer: paced, sent again where that is harmless."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeVar

from arci.run.egress.clock import Clock
from arci.run.egress.failure import CallFailed, Failure
from arci.run.egress.resending import LONGEST_WAIT_S, MOST_RESENDS, RESENT, THROTTLES, backoff_s, retry_after_s
from arci.run.egress.routes import Outgoing
from arci.run.egress.tally import Tally
from arci.run.egress.turnstile import Turnstile
from arci.run.egress.upstream import Upstream
from arci.run.egress.waits import Waits

if TYPE_CHECKING:
    from arci.run.egress.answer import Answer

__all__ = ["Line", "Receiver"]

T = TypeVar("T")

_QUOTED_BYTES = 500
"""Of an answer that is not handed on, in the error text."""


class Sender(Protocol):
    """What of the client is needed here."""

    async def send(self, upstream: Upstream, request: Outgoing, key: str | None) -> Answer: ...


class Receiver(Protocol):
    """Who is handed the answer. Each returns when the next may follow."""

    async def head(self, status: int, headers: list[tuple[str, str]]) -> None: ...

    async def piece(self, data: bytes) -> None: ...


class _Again(Exception):
    """To be sent again after `delay_s`; `failure` is the call's if it may not be."""

    def __init__(self, failure: Failure, delay_s: float | None) -> None:
        super().__init__(failure.kind)
        self.failure = failure
        self.delay_s = delay_s


class Line:
    """All calls to one upstream. `key` is the value that goes out with each, None for none."""

    def __init__(self, upstream: Upstream, key: str | None, client: Sender, turnstile: Turnstile, clock: Clock) -> None:
        self.upstream = upstream
        self.tally = Tally()
        self._key = key
        self._client = client
        self._turnstile = turnstile
        self._clock = clock

    async def call(self, request: Outgoing, receiver: Receiver, waits: Waits) -> None:
        """Hands the answer to `receiver`, whole. CallFailed where there is none, or where it broke off.

        `waits` is told of each span that the call does not spend with the upstream.
        """
        ticket: int | None = None
        resend = 0
        while True:
            ticket = await self._timed(self._turnstile.enter(ticket), waits)
            self.tally.sent += 1
            try:
                await self._attempt(ticket, request, receiver)
                return
            except _Again as again:
                failure, asked_s = again.failure, again.delay_s
            delay_s = max(backoff_s(resend), asked_s or 0.0)
            if resend == MOST_RESENDS or delay_s > LONGEST_WAIT_S:
                raise CallFailed(_last(failure, resend, delay_s))
            await self._timed(self._clock.sleep(delay_s), waits)
            resend += 1
            self.tally.resends += 1

    async def _timed(self, waiting: Awaitable[T], waits: Waits) -> T:
        begun_s = self._clock.now_s()
        waits.begin(self._clock.now_s)
        try:
            return await waiting
        finally:
            spent_s = self._clock.now_s() - begun_s
            self.tally.waited_s += spent_s
            waits.end()

    async def _attempt(self, ticket: int, request: Outgoing, receiver: Receiver) -> None:
        begun_s = self._clock.now_s()
        give_back = self._turnstile.broken
        try:
            answer = await self._send(request)
            try:
                give_back = self._turnstile.throttled if answer.status in THROTTLES else self._turnstile.answered
                await self._hand_on(answer, receiver)
            finally:
                await answer.close()
        finally:
            give_back(ticket)
        self.tally.answered_s += self._clock.now_s() - begun_s

    async def _send(self, request: Outgoing) -> Answer:
        try:
            return await self._client.send(self.upstream, request, self._key)
        except CallFailed as error:
            if error.may_resend:
                raise _Again(error.failure, None) from None
            raise

    async def _hand_on(self, answer: Answer, receiver: Receiver) -> None:
        self.tally.throttled += answer.status in THROTTLES
        if answer.status in RESENT or (answer.status == 401 and self._key is not None):
            await self._set_aside(answer)
        await receiver.head(answer.status, answer.headers)
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                self.tally.received_bytes += len(piece)
                await receiver.piece(piece)

    async def _set_aside(self, answer: Answer) -> None:
        """The key is the host's: an upstream that refuses it says nothing of the agent."""
        delay_s = retry_after_s(answer.headers, self._clock.wall_s())
        if delay_s is not None and delay_s <= LONGEST_WAIT_S:
            self._turnstile.hold(delay_s)
        said = await answer.opening(_QUOTED_BYTES)
        host = self.upstream.address.host
        if answer.status == 401:
            detail = f"{host} refused the key {self.upstream.key} (401)"
            raise CallFailed(Failure("connect", f"{detail}: {said}" if said else detail, status=401))
        detail = f"{host} answered {answer.status}"
        raise _Again(Failure("connect", f"{detail}: {said}" if said else detail, status=answer.status), delay_s)


def _last(failure: Failure, resend: int, delay_s: float) -> Failure:
    asked = f"; it asks to wait {delay_s:g} s, {LONGEST_WAIT_S:g} are waited" if delay_s > LONGEST_WAIT_S else ""
    times = f" (sent {resend + 1} times)" if resend else ""
    return Failure(failure.kind, failure.detail + times + asked, status=failure.status)
