"""Fetching the declared evidence out of the agent's workdir, after the agent is gone and while its pod still stands."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence

from anyio import to_thread

from arci.isolation.base import Pod
from arci.model.trial import Blame, Role
from arci.run.attempt import Attempt
from arci.run.evidence import MOST_ARCHIVE_BYTES, Evidence, EvidenceRefused, fetch_paths, read_archive

__all__ = ["fetch_into", "take_evidence"]


async def take_evidence(pod: Pod, attempt: Attempt) -> None:
    """Fills `attempt.evidence`, or `attempt.evidence_excess`. A declared file that is not there is simply not there."""
    patterns = attempt.manifest.evidence
    if not patterns:
        return
    evidence = Evidence()
    with attempt.measure("seal"):
        try:
            for path in fetch_paths(patterns):
                await fetch_into(pod, Role.AGENT, path, patterns, evidence)
        except EvidenceRefused as refusal:
            attempt.evidence_excess = str(refusal)
        except tarfile.TarError as error:
            attempt.conversation.trouble(Blame.ENGINE, f"evidence: an archive that cannot be read: {error}")
        attempt.evidence = evidence


async def fetch_into(pod: Pod, role: Role, path: str, patterns: Sequence[str], evidence: Evidence) -> None:
    """What is at `path` in the workdir of `role`, as far as `patterns` name it; nothing where there is nothing.

    EvidenceRefused for what is over a cap or hostile, tarfile.TarError for an archive that is none.
    """
    try:
        data = await pod.get(role, path, MOST_ARCHIVE_BYTES)
    except FileNotFoundError:
        return
    except ValueError as error:
        raise EvidenceRefused(f"evidence: {path}: {str(error)[-500:]}") from error
    await to_thread.run_sync(read_archive, data, path, patterns, evidence)
