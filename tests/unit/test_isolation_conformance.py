"""The suite itself: nothing is skipped in silence, and back ends that break the contract are caught."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from arci.errors import EngineError
from arci.isolation.base import Capability, Chunk, Exit
from arci.isolation.conformance import suite
from arci.isolation.conformance.bench import Bench, ConformanceFailure, require
from arci.isolation.conformance.check import Check, Result, Status
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.conformance.suite import CHECKS, run_check, run_conformance
from arci.isolation.fake import FakeIsolation
from arci.isolation.fake_guest import FakeGuest
from arci.isolation.remains import Remains


async def _holds(bench: Bench) -> None:
    pass


async def _fails(bench: Bench) -> None:
    require(False, "seen was 3, due was 4")


async def _engine_breaks(bench: Bench) -> None:
    raise EngineError("start agent", "no room")


HOLDS, FAILS = Check("holds", "it holds", _holds), Check("fails", "it fails", _fails)


def results(checks: tuple[Check, ...], monkeypatch: pytest.MonkeyPatch, **gaps: str) -> dict[str, Result]:
    monkeypatch.setattr(suite, "CHECKS", checks)

    async def main() -> list[Result]:
        return await run_conformance(FakeIsolation(), conformance_plan("fake"), gaps=gaps)

    return {result.name: result for result in anyio.run(main)}


def test_a_check_passes_or_fails_with_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = results((HOLDS, FAILS), monkeypatch)
    assert seen["holds"] == Result("holds", "it holds", Status.PASSED)
    assert seen["fails"].detail == "ConformanceFailure: seen was 3, due was 4"
    assert (seen["holds"].is_good, seen["fails"].is_good) == (True, False)


def test_an_engine_error_within_a_check_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = results((Check("breaks", "", _engine_breaks),), monkeypatch)
    assert seen["breaks"].status is Status.FAILED
    assert seen["breaks"].detail == "EngineError: start agent: no room"


def test_a_known_gap_is_told_with_its_reason_and_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = results((FAILS,), monkeypatch, fails="it is Tuesday")
    assert seen["fails"].status is Status.GAP
    assert seen["fails"].detail == "it is Tuesday [ConformanceFailure: seen was 3, due was 4]"
    assert seen["fails"].is_good


def test_a_gap_that_passes_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = results((HOLDS,), monkeypatch, holds="it is Tuesday")
    assert seen["holds"].status is Status.FAILED
    assert "take it off the list" in seen["holds"].detail


def test_a_gap_that_names_no_check_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert results((HOLDS,), monkeypatch, hold="a typo")["hold"].status is Status.FAILED


def test_what_a_back_end_does_not_claim_is_not_applicable_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = results((replace(FAILS, needs=Capability.LIMITS_DISK),), monkeypatch)
    assert seen["fails"] == Result("fails", "it fails", Status.NOT_APPLICABLE, "lacks LIMITS_DISK")


def test_a_failure_is_an_assertion() -> None:
    assert issubclass(ConformanceFailure, AssertionError)


def _wait_says_zero(guest: FakeGuest, original: Any) -> Any:
    async def wait(timeout_s: float) -> Exit | None:
        end: Exit | None = await original(timeout_s)
        return end or Exit(0)

    return wait


def _stop_is_not_marked(guest: FakeGuest, original: Any) -> Any:
    async def stop(grace_s: float) -> Exit:
        end: Exit = await original(grace_s)
        return replace(end, killed_by_us=False)

    return stop


def _output_mixes(guest: FakeGuest, original: Any) -> Any:
    async def output() -> AsyncIterator[Chunk]:
        async for chunk in original():
            yield replace(chunk, stream="stdout")

    return output


def _output_loses_the_end(guest: FakeGuest, original: Any) -> Any:
    async def output() -> AsyncIterator[Chunk]:
        async for chunk in original():
            yield replace(chunk, data=chunk.data[:41_051])

    return output


def _send_raises(guest: FakeGuest, original: Any) -> Any:
    async def send(data: bytes) -> None:
        if guest._exit is not None:
            raise BrokenPipeError
        await original(data)

    return send


BROKEN = [
    ("wait", _wait_says_zero, "wait_times_out"),
    ("stop", _stop_is_not_marked, "kill_is_marked"),
    ("output", _output_mixes, "streams_apart"),
    ("output", _output_loses_the_end, "mebibyte_many_times"),
    ("send", _send_raises, "send_to_the_dead"),
]


@pytest.mark.parametrize(("method", "breaks", "name"), BROKEN, ids=[name for *_, name in BROKEN])
def test_a_back_end_that_breaks_the_contract_is_caught(
    monkeypatch: pytest.MonkeyPatch, method: str, breaks: Any, name: str
) -> None:
    original = getattr(FakeGuest, method)
    monkeypatch.setattr(FakeGuest, method, lambda self, *args: breaks(self, lambda *a: original(self, *a))(*args))
    assert check_by_name(FakeIsolation(), name).status is Status.FAILED


class _Forgetful(FakeIsolation):
    """Says that a run has left something."""

    async def remains(self, run_id: str) -> Remains:
        found = await super().remains(run_id)
        return found if found.everything else Remains(resting=("volume arci-work-1",))


def test_what_a_run_leaves_is_caught() -> None:
    result = check_by_name(_Forgetful(), "cancellation_leaves_nothing")
    assert result.detail == "ConformanceFailure: left of the run: volume arci-work-1"


class _Blind(FakeIsolation):
    """Sees nothing, so nothing it says of what is left means anything."""

    async def remains(self, run_id: str) -> Remains:
        return Remains()


def test_a_back_end_that_sees_nothing_cannot_pass_by_seeing_nothing() -> None:
    assert "does not see" in check_by_name(_Blind(), "leaving_ends_everything").detail


def check_by_name(isolation: FakeIsolation, name: str) -> Result:
    check = next(check for check in CHECKS if check.name == name)
    run = conformance_plan("fake")

    async def main() -> Result:
        async with isolation.open(run) as slots:
            return await run_check(Bench(isolation, run, slots, sys.executable, repeats=2), check)

    return anyio.run(main)
