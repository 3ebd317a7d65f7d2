"""The outside calls of one trial: takes the recorder's requests, answers by frames, counts, cuts at the budget."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from arci.run.egress.exchange import Line
from arci.run.egress.failure import CallFailed, Failure
from arci.run.egress.outbox import Outbox
from arci.run.egress.permission import check_permitted
from arci.run.egress.requests import TrialRequest, parse_request, request_number
from arci.run.egress.routes import Outgoing, outgoing
from arci.run.egress.waits import Waits
from arci.run.frames import FrameError

__all__ = ["TrialEgress"]

_MOST_KEPT = 20
"""Failures that are kept by themselves; further ones are counted alone."""


class TrialEgress:
    """Made by `Egress.for_trial`, and of use within its context alone."""

    def __init__(self, lines: Mapping[str, Line], max_model_calls: int, outbox: Outbox, calls: TaskGroup) -> None:
        self.failures: list[Failure] = []
        """Calls that got no usable answer through no doing of the agent's: upstream, network or machine."""
        self.calls: dict[str, int] = dict.fromkeys(lines, 0)
        """Upstream -> calls admitted, as the host counts them."""
        self._waits = Waits()
        self._lines = lines
        self._max_model_calls = max_model_calls
        self._outbox = outbox
        self._tasks = calls
        self._open: dict[int, anyio.CancelScope] = {}
        self._last = -1
        self._lookups: dict[str, int] = dict.fromkeys(lines, 0)

    @property
    def waited_s(self) -> float:
        """For how long calls waited for their pace or backed off, as of now; overlapping waits count once."""
        return self._waits.total_s

    def take(self, frame: Mapping[str, Any]) -> None:
        """An `upstream_request` or `upstream_cancel`. Returns at once; FrameError for a malformed one."""
        if frame.get("type") == "upstream_cancel":
            self._hang_up(request_number(frame))
            return
        request = parse_request(frame)
        if request.number <= self._last:
            raise FrameError(f"an `upstream_request` {request.number} after {self._last}")
        check_permitted()
        self._last = request.number
        scope = self._open[request.number] = anyio.CancelScope()
        self._tasks.start_soon(self._serve, request, scope)

    def _hang_up(self, number: int) -> None:
        if number > self._last:
            raise FrameError(f"an `upstream_cancel` {number} after request {self._last}")
        self._outbox.silence(number)
        scope = self._open.get(number)  # one that has ended meanwhile is not known any more
        if scope is not None:
            scope.cancel()

    async def _serve(self, request: TrialRequest, scope: anyio.CancelScope) -> None:
        line = self._lines.get(request.upstream)
        is_over = False
        try:
            with scope:
                await self._answer(request, line)
                is_over = True
        finally:
            del self._open[request.number]
            if not is_over and line is not None:
                line.tally.cancelled += 1

    async def _answer(self, request: TrialRequest, line: Line | None) -> None:
        try:
            if line is None:
                known = ", ".join(self._lines) or "none"
                detail = f"{request.upstream[:100]!r} is no upstream of this experiment; {known} are known."
                raise CallFailed(Failure("refused", detail, by_agent=True))
            sent = self._admit(request, line)
            await line.call(sent, _Frames(request.number, self._outbox), self._waits)
        except CallFailed as error:
            await self._fail(request.number, line, error.failure)
        else:
            await self._outbox.put({"type": "upstream_end", "request": request.number})

    def _admit(self, request: TrialRequest, line: Line) -> Outgoing:
        sent = outgoing(line.upstream, request.method, request.path, request.headers, request.body)
        name = line.upstream.name
        counted = self.calls if sent.is_call else self._lookups
        limit, used = self._budget(line, counted)
        if used >= limit:
            budget = "max_model_calls" if line.upstream.max_calls is None else "max_decisions"
            raise CallFailed(Failure("limit", f"{budget}: {limit} calls of this trial have been made", by_agent=True))
        counted[name] += 1
        line.tally.requests += 1
        return sent

    def _budget(self, line: Line, counted: Mapping[str, int]) -> tuple[int, int]:
        """Limit and use: of an upstream's own budget, or of the one that all models share."""
        if line.upstream.max_calls is not None:
            return line.upstream.max_calls, counted[line.upstream.name]
        shared = (name for name, other in self._lines.items() if other.upstream.max_calls is None)
        return self._max_model_calls, sum(counted[name] for name in shared)

    async def _fail(self, number: int, line: Line | None, failure: Failure) -> None:
        if not failure.by_agent and len(self.failures) < _MOST_KEPT:
            self.failures.append(failure)
        if line is not None and failure.by_agent:
            line.tally.refused += 1
        elif line is not None:
            line.tally.failed[failure.kind] = line.tally.failed.get(failure.kind, 0) + 1
        frame = {"type": "upstream_failed", "request": number, "kind": failure.kind, "detail": failure.detail}
        if failure.status is not None:
            frame["status"] = failure.status
        await self._outbox.put(frame)


class _Frames:
    """Hands an answer on as frames."""

    def __init__(self, number: int, outbox: Outbox) -> None:
        self._number = number
        self._outbox = outbox

    async def head(self, status: int, headers: list[tuple[str, str]]) -> None:
        pairs = [[name, value] for name, value in headers]
        frame = {"type": "upstream_head", "request": self._number, "status": status, "headers": pairs}
        await self._outbox.put(frame)

    async def piece(self, data: bytes) -> None:
        text = base64.b64encode(data).decode("ascii")
        await self._outbox.put({"type": "upstream_chunk", "request": self._number, "data": text})
