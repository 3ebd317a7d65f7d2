"""A recorded trial made live again: found in its store, planned as it was, and compared with its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from runs import edit_records, make_run
from trials import ANSWERED, make_manifest

from arci.diagnose.rerun import RecordedTrial, Rerun, read_recorded, rerun, rerun_document
from arci.errors import ArciError, StoreError
from arci.isolation.fake import FakeIsolation, ScriptedTrial
from arci.manifest.schedule import schedule
from arci.model.record import trace_sha256
from arci.run.result import TrialResult

pytestmark = pytest.mark.anyio

TRIAL = "reserve-timeout:00001:candidate"
RECORD = {"outcome": "FAIL", "ending": "completed", "blame": "agent", "detail": "no", "fingerprint": "oracle"}


def test_a_trial_is_found_as_it_was_planned(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "PF"})
    found = read_recorded(run, TRIAL)
    assert (found.trial.trial_id, found.trial.seed, found.record["outcome"]) == (TRIAL, 12001, "FAIL")


def test_a_trial_that_is_not_there_or_not_of_its_manifest_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "PF"})
    with pytest.raises(StoreError, match="no record of trial"):
        read_recorded(run, "reserve-timeout:00009:candidate")
    edit_records(run, lambda record: record.update(seed=1))
    with pytest.raises(ArciError, match="seed"):
        read_recorded(run, TRIAL)


def compared(made: Mapping[str, Any], events: list[dict[str, Any]], recorded: Mapping[str, Any]) -> Rerun:
    trial = schedule(make_manifest())[0]
    return Rerun(recorded, TrialResult(trial, dict(made), events, {}, True))


@pytest.mark.parametrize(
    ("changes", "exit_code", "same"),
    [
        ({}, 0, (True, True)),
        ({"fingerprint": "crash|1"}, 0, (True, False)),
        ({"outcome": "PASS", "fingerprint": None}, 1, (False, False)),
        ({"outcome": "ERROR", "fingerprint": "harness"}, 3, (False, False)),
    ],
)
def test_the_exit_code_tells_whether_the_outcome_was_the_same(
    changes: Mapping[str, Any], exit_code: int, same: tuple[bool, bool]
) -> None:
    found = compared({**RECORD, **changes}, [], {**RECORD, "trace_sha256": trace_sha256([])})
    assert (found.exit_code, found.is_same_outcome, found.is_same_failure) == (exit_code, *same)


def test_the_trace_is_compared_by_its_steps() -> None:
    recorded = {**RECORD, "trace_sha256": trace_sha256([])}
    step = {"kind": "model_step", "summary": "s", "facts": {}}
    assert compared(RECORD, [], recorded).is_same_trace
    found = compared(RECORD, [step], recorded)
    assert not found.is_same_trace
    assert rerun_document(found)["same_trace"] is False


async def test_the_trial_runs_with_its_own_seed() -> None:
    manifest = make_manifest()
    trial = replace(schedule(manifest)[3])
    recorded = RecordedTrial({}, manifest, trial, {**RECORD, "outcome": "PASS", "trace_sha256": ""})
    found = await rerun(recorded, FakeIsolation(ScriptedTrial(events=[ANSWERED])))
    assert (found.result.record["seed"], found.result.record["outcome"]) == (trial.seed, "PASS")
