"""The list of checks, and how they are run: each alone, with a time limit, and nothing skipped without saying so."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from arci.isolation.base import RunPlan
from arci.isolation.conformance import ends, files, given, life, limits, pods, servers, stops, streams
from arci.isolation.conformance.bench import Bench
from arci.isolation.conformance.check import Check, Result, Status
from arci.isolation.remains import Observable

__all__ = ["CHECKS", "run_check", "run_conformance"]

CHECKS: tuple[Check, ...] = (
    *ends.CHECKS,
    *streams.CHECKS,
    *stops.CHECKS,
    *files.CHECKS,
    *given.CHECKS,
    *pods.CHECKS,
    *servers.CHECKS,
    *limits.CHECKS,
    *life.CHECKS,
)
TIME_LIMIT_S = 300.0
"""One check, repeats included; its own waits are bounded far below this."""


async def run_conformance(
    isolation: Observable,
    run: RunPlan,
    *,
    gaps: Mapping[str, str],
    python: str = "python3",
    repeats: int = 20,
    owner: str | None = None,
) -> list[Result]:
    """Every check on `isolation`, one after another, in one opened run.

    `gaps`: name of a check that this back end is known to fail -> the reason; one that passes all the same is a
    failure, and so is a name that no check has. `python`: the interpreter as guests see it. `owner`: `module:callable`
    that makes the back end in another process. An engine that cannot open the run raises EngineError.
    """
    results = [
        Result(name, "", Status.FAILED, "listed as a gap, but no check has this name") for name in _unknown(gaps)
    ]
    async with isolation.open(run) as slots:
        bench = Bench(isolation, run, slots, python, repeats, owner)
        results += [await run_check(bench, check, gap=gaps.get(check.name)) for check in CHECKS]
    return results


def _unknown(gaps: Mapping[str, str]) -> list[str]:
    return sorted(set(gaps) - {check.name for check in CHECKS})


async def run_check(bench: Bench, check: Check, *, gap: str | None = None) -> Result:
    """One check; whatever it raises is its failure. `gap`: why it is known to fail."""
    if check.needs is not None and check.needs not in bench.isolation.capabilities:
        return Result(check.name, check.shows, Status.NOT_APPLICABLE, f"lacks {check.needs.name}")
    trouble = await _trouble(bench, check)
    if gap is None:
        status, detail = (Status.PASSED, "") if trouble is None else (Status.FAILED, trouble)
    elif trouble is None:
        status, detail = Status.FAILED, f"listed as a gap ({gap}), but it passes: take it off the list"
    else:
        status, detail = Status.GAP, f"{gap} [{trouble}]"
    return Result(check.name, check.shows, status, detail)


async def _trouble(bench: Bench, check: Check) -> str | None:
    try:
        with anyio.fail_after(TIME_LIMIT_S):
            await check.body(bench)
    except Exception as error:
        return "; ".join(f"{type(e).__name__}: {e}" for e in _leaves(error))
    return None


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
