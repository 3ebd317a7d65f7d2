"""The outside calls of a run: one client, one pace per upstream, one event loop, no worker threads of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from arci.errors import SpecError
from arci.isolation.groups import task_group
from arci.run.egress.allowances import read_allowances
from arci.run.egress.check import upstream_problems
from arci.run.egress.clock import Clock
from arci.run.egress.exchange import Line
from arci.run.egress.once import Reply
from arci.run.egress.outbox import Outbox, Send
from arci.run.egress.pacing import Pace
from arci.run.egress.permission import check_permitted
from arci.run.egress.proxy import CA_VARIABLE, PROXY_VARIABLE, proxy_of
from arci.run.egress.routes import outgoing
from arci.run.egress.trial import TrialEgress
from arci.run.egress.turnstile import Turnstile
from arci.run.egress.upstream import Upstream, upstreams_of
from arci.run.egress.waits import Waits
from arci.run.masking import Masks

if TYPE_CHECKING:
    from arci.run.egress.client import Client

__all__ = ["Egress", "open_egress"]

_FLUSH_S = 5.0
"""How long the last frame may take to be written when a trial is over."""
_VERSIONS = {"anthropic": (("anthropic-version", "2023-06-01"),)}
"""What an SDK says by itself and this API demands."""


class Egress:
    """Made by `open_egress`."""

    def __init__(self, lines: Mapping[str, Line], max_model_calls: int) -> None:
        self._lines = lines
        self._max_model_calls = max_model_calls

    @asynccontextmanager
    async def for_trial(self, send: Send) -> AsyncIterator[TrialEgress]:
        """The calls of one attempt of a trial, answered by frames given to `send`, one at a time.

        Leaving it closes what is still under way; a frame that is being written is written whole.
        """
        with Outbox(send) as outbox:
            async with task_group() as writing:
                writing.start_soon(outbox.write)
                try:
                    async with task_group() as calls:
                        yield TrialEgress(self._lines, self._max_model_calls, outbox, calls)
                        calls.cancel_scope.cancel()
                finally:
                    outbox.close()
                    writing.cancel_scope.shield = True
                    writing.cancel_scope.deadline = anyio.current_time() + _FLUSH_S

    async def ask(self, upstream: str, method: str, path: str, body: str = "") -> Reply:
        """One request outside any trial and its budget (preflight), with a JSON body. CallFailed as for a trial's.

        `path` is below the upstream's base URL. KeyError for an upstream that is not declared.
        """
        line, reply = self._lines[upstream], Reply()
        headers = [("content-type", "application/json"), *_VERSIONS.get(line.upstream.kind, ())]
        request = outgoing(line.upstream, method, path, headers, body)
        line.tally.requests += 1
        await line.call(request, reply, Waits())
        return reply

    def facts(self) -> dict[str, dict[str, Any]]:
        """Upstream -> what was asked of it so far, as `tally.Tally` names it."""
        return {name: line.tally.as_json() for name, line in self._lines.items()}


@asynccontextmanager
async def open_egress(
    models: Sequence[Mapping[str, Any]],
    decisions: Mapping[str, Any] | None,
    env: Mapping[str, str],
    *,
    max_model_calls: int,
    where: str = "manifest",
    clock: Clock | None = None,
    forbidden: str | None = None,
) -> AsyncIterator[Egress]:
    """The way out for a run of a manifest document with these `models` and `decisions`; `env` is the host's.

    `max_model_calls` is each trial's budget over all models. `forbidden`: why nothing may be called (a replay); then
    EgressForbidden is raised and nothing is opened. SpecError for what `check.upstream_problems` finds, `where` being
    the name of the descriptor in it.
    """
    check_permitted(forbidden)
    problems = upstream_problems(models, decisions, read_allowances(env), env, where)
    if problems:
        raise SpecError(problems)
    upstreams = upstreams_of(models, decisions)
    if not upstreams:
        yield Egress({}, max_model_calls)
        return
    clock = clock or Clock()
    client = _client(upstreams, env)
    try:
        async with task_group() as timers:
            lines = {u.name: _line(u, env, client, Turnstile(_pace(u, clock), clock, timers), clock) for u in upstreams}
            yield Egress(lines, max_model_calls)
            timers.cancel_scope.cancel()
    finally:
        await client.close()


def _client(upstreams: Sequence[Upstream], env: Mapping[str, str]) -> Client:
    from arci.run.egress.client import Client  # what it imports costs more than a run without upstreams should pay

    proxy = proxy_of(env)
    secrets = {u.key: env[u.key] for u in upstreams if u.key is not None and env.get(u.key)}
    if proxy is not None and proxy.auth is not None:
        secrets[PROXY_VARIABLE] = proxy.auth[1]
    return Client(sum(u.concurrency for u in upstreams), Masks(secrets), proxy=proxy, ca_bundle=env.get(CA_VARIABLE))


def _pace(upstream: Upstream, clock: Clock) -> Pace:
    return Pace(upstream.max_requests_per_minute, upstream.concurrency, clock.now_s())


def _line(upstream: Upstream, env: Mapping[str, str], client: Client, turnstile: Turnstile, clock: Clock) -> Line:
    key = env.get(upstream.key) or None if upstream.key is not None else None
    return Line(upstream, key, client, turnstile, clock)
