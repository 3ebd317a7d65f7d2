"""A recorded trial found in its store, and made live again: the same seed, arm, condition and task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.bundle.trial import check_record
from arci.isolation.base import Isolation
from arci.manifest.seal import load_manifest
from arci.model.manifest import Manifest
from arci.model.record import trace_sha256
from arci.model.trial import Outcome, Trial
from arci.run.result import TrialResult
from arci.run.single import make_one
from arci.run.witness import Witness
from arci.store.layout import MANIFEST
from arci.store.reader import read_record, refuse_foreign

__all__ = ["RecordedTrial", "Rerun", "read_recorded", "rerun", "rerun_document"]

_TOLD = ("outcome", "ending", "blame", "detail", "fingerprint", "trace_sha256")


@dataclass(frozen=True, slots=True)
class RecordedTrial:
    """One trial of a run store, as it was planned and as it ended."""

    document: Mapping[str, Any]
    """The sealed manifest."""
    manifest: Manifest
    trial: Trial
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rerun:
    """The trial made again beside its record."""

    recorded: Mapping[str, Any]
    result: TrialResult

    @property
    def trace_sha256(self) -> str:
        return trace_sha256(self.result.events)

    @property
    def is_same_outcome(self) -> bool:
        return bool(self.recorded["outcome"] == self.result.record["outcome"])

    @property
    def is_same_failure(self) -> bool:
        return self.is_same_outcome and bool(self.recorded["fingerprint"] == self.result.record["fingerprint"])

    @property
    def is_same_trace(self) -> bool:
        return bool(self.recorded["trace_sha256"] == self.trace_sha256)

    @property
    def exit_code(self) -> int:
        """0 the same outcome, 1 another, 3 ERROR."""
        if self.result.record["outcome"] == Outcome.ERROR:
            return 3
        return 0 if self.is_same_outcome else 1


def read_recorded(run: Path, trial_id: str) -> RecordedTrial:
    """StoreError or SpecError for a store that cannot be read, BundleError for a record that is not of its manifest."""
    refuse_foreign(run)
    record, document = read_record(run, trial_id), load_manifest(run / MANIFEST)
    manifest = Manifest.from_document(document)
    return RecordedTrial(document, manifest, check_record(manifest, record), record)


async def rerun(recorded: RecordedTrial, isolation: Isolation, witness: Witness | None = None) -> Rerun:
    """Everything runs: environment, faults, models and all. UsageError or ArciError where it cannot."""
    result = await make_one(recorded.manifest, isolation, recorded.trial, witness)
    return Rerun({name: recorded.record.get(name) for name in _TOLD}, result)


def rerun_document(found: Rerun) -> dict[str, Any]:
    """The JSON object of `arci rerun --json`."""
    made = {name: found.result.record[name] for name in _TOLD if name != "trace_sha256"}
    return {
        "trial_id": found.result.trial.trial_id,
        "exit_code": found.exit_code,
        "same_outcome": found.is_same_outcome,
        "same_failure": found.is_same_failure,
        "same_trace": found.is_same_trace,
        "recorded": dict(found.recorded),
        "made": {**made, "trace_sha256": found.trace_sha256},
        "record": found.result.record,
        "events": found.result.events,
    }
