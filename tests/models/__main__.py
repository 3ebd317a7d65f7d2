"""`make models`: every package on the real engine, its session and its faults, the table on stdout, the reference page.
Ids of packages: those alone, and no page."""

from __future__ import annotations

import sys
from pathlib import Path

from models.experiment import Trial, run_faults, run_session
from models.page import behaviour, markdown, text
from models.provider import provider
from models.table import CLIENTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "models.md"
WORK = ROOT / "build" / "models"


def main(names: list[str]) -> int:
    """0 if every package got along without a fault, and ended in some way under each."""
    wanted = [client for client in CLIENTS if not names or client.id in names]
    if not wanted:
        sys.stderr.write(f"models: no package is named {' or '.join(names)}; there are {', '.join(_ids())}\n")
        return 64
    sessions: list[Trial] = []
    faulted: list[Trial] = []
    with provider() as found:
        for client in wanted:
            sys.stderr.write(f"models: {client.id}\n")
            sessions += run_session(client, found, WORK / client.id / "session")
            faulted += run_faults(client, found, WORK / client.id / "call")
    sys.stdout.write(text(sessions, faulted) + "\n")
    if not names:
        PAGE.write_text(markdown(sessions, faulted), encoding="utf-8")
    good = all(t.outcome == "PASS" for t in sessions) and all(behaviour(t) != "NO RESULT" for t in faulted)
    return 0 if good else 1


def _ids() -> list[str]:
    return [client.id for client in CLIENTS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
