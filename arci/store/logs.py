"""Kept output of guests: head and tail of a stream with its exact size, one file each below `logs/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.model.canonical import digest_bytes
from arci.store.files import naming, write_file
from arci.store.layout import LOGS, log_name
from arci.store.lines import open_regular

__all__ = ["LogTail", "describe_logs", "log_problem", "read_kept", "write_logs"]


@dataclass(frozen=True, slots=True)
class LogTail:
    """What is kept of one stream: its first bytes, its last bytes, and how many there were."""

    head: bytes
    tail: bytes
    total: int
    """Exact count of bytes of the whole stream, >= len(head) + len(tail)."""

    @property
    def kept(self) -> bytes:
        return self.head + self.tail

    @property
    def left_out(self) -> int:
        """Bytes between head and tail that were not kept."""
        return self.total - len(self.head) - len(self.tail)


Logs = Mapping[str, Mapping[str, LogTail]]


def describe_logs(logs: Logs) -> dict[str, dict[str, dict[str, Any]]]:
    """What a record says of its logs: role -> stream -> `bytes`, `head_bytes`, `kept_sha256`."""
    return {
        role: {
            stream: {"bytes": log.total, "head_bytes": len(log.head), "kept_sha256": digest_bytes(log.kept)}
            for stream, log in streams.items()
        }
        for role, streams in logs.items()
    }


def write_logs(directory: Path, trial_id: str, logs: Logs) -> None:
    """One synced file per stream that said anything. StoreError naming the file."""
    for role, streams in logs.items():
        for stream, log in streams.items():
            if log.total:  # most streams are empty, and a file and its sync cost more than a trial's bookkeeping
                path = directory / LOGS / log_name(trial_id, role, stream)
                with naming(path):
                    write_file(path, log.kept)


def read_kept(directory: Path, trial_id: str, role: str, stream: str, facts: Mapping[str, Any]) -> LogTail:
    """The kept stream as its record describes it. OSError, ValueError, KeyError or TypeError with the reason else."""
    if facts["kept_sha256"] is None:
        raise ValueError("it could not be kept when the trial ran")
    kept = b""
    if facts["bytes"]:
        with open_regular(directory / LOGS / log_name(trial_id, role, stream)) as file:
            kept = file.read()
    if digest_bytes(kept) != facts["kept_sha256"]:
        raise ValueError("its content is not what the record sealed")
    head = int(facts["head_bytes"])
    return LogTail(kept[:head], kept[head:], int(facts["bytes"]))


def log_problem(directory: Path, trial_id: str, role: str, stream: str, facts: Any) -> str | None:
    """What is wrong with a kept stream, if anything is. One that was lost before it was sealed is not wrong."""
    if isinstance(facts, dict) and facts.get("kept_sha256", "") is None:
        return None
    try:
        read_kept(directory, trial_id, role, stream, facts)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return str(error)
    except (KeyError, TypeError):
        return "its description in the record cannot be read"
    return None
