"""The conformance checks of a back end as the doctor runs them: a few that matter most, or all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from arci.isolation.base import RunPlan
from arci.isolation.conformance.bench import Bench
from arci.isolation.conformance.check import Check, Result
from arci.isolation.conformance.suite import CHECKS, run_check
from arci.isolation.process.native import find_init
from arci.isolation.remains import Observable

__all__ = ["QUICK", "Place", "chosen_checks", "conform", "process_gaps"]

QUICK = (
    "exit_codes_kept",
    "streams_apart",
    "stop_kills_the_tree",
    "workdir_is_fresh",
    "files_outlive_the_guest",
    "grader_cannot_read_the_agent",
    "agent_reaches_boundary",
    "status_is_reported",
    "only_loopback",
    "no_way_out",
    "trusted_loopback_is_apart",
    "agent_has_no_power",
    "root_is_read_only",
    "memory_is_limited",
    "processes_are_limited",
    "disk_is_limited",
    "leaving_ends_everything",
    "owner_killed",
)
"""What a wrong verdict or a leak would follow from, soonest seen."""
_REPEATS = 3
_WITHOUT_INIT = "arci-init does not run here: nothing adopts what detaches from an agent, and nothing reports of it"
_NEEDS_INIT = (
    "agent_dies_with_boundary",
    "end_takes_the_tree",
    "status_is_reported",
    "stop_kills_the_tree",
    "stop_with_grace_kills_the_tree",
)


@dataclass(frozen=True, slots=True)
class Place:
    """A back end to be checked. `owner`: `module:callable` that makes it in another process."""

    isolation: Observable
    run: RunPlan
    owner: str
    python: str = "python3"
    gaps: Mapping[str, str] = field(default_factory=dict)


def chosen_checks(*, everything: bool) -> tuple[Check, ...]:
    return CHECKS if everything else tuple(check for check in CHECKS if check.name in QUICK)


def process_gaps() -> dict[str, str]:
    """What local processes are known not to keep on this machine, with the reason."""
    return {} if find_init() else dict.fromkeys(_NEEDS_INIT, _WITHOUT_INIT)


async def conform(
    place: Place, checks: tuple[Check, ...], notice: Callable[[str], None] = lambda text: None
) -> list[Result]:
    """The results of `checks`, in one opened run. EngineError where it cannot be opened."""
    notice(f"Checking the contract of the back end: {len(checks)} checks.")
    results = []
    async with place.isolation.open(place.run) as slots:
        bench = Bench(place.isolation, place.run, slots, place.python, _REPEATS, place.owner)
        for check in checks:
            results.append(await run_check(bench, check, gap=place.gaps.get(check.name)))
            if not results[-1].is_good:
                notice(f"{check.name}: {results[-1].detail}")
    return results
