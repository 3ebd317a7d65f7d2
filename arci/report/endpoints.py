"""What `arci preflight` found, as plain text. Pure."""

from __future__ import annotations

from arci.report.escape import fold, pad, printable
from arci.run.endpoints import Examination

__all__ = ["render_endpoints"]


def render_endpoints(found: Examination) -> str:
    """One line a check, and what it comes to; ended by a newline."""
    if not found.rows:
        return "nothing is called: the descriptor declares no models, and no decisions over http\n"
    width = max(len(row.upstream) for row in found.rows)
    lines = []
    for row in found.rows:
        head = f"{pad(printable(row.upstream), width)}  {pad(row.check, 9)}{pad(row.state, 10)}"
        lines += fold(f"{head}{row.detail}".rstrip(), "", "    ")
    return "\n".join([*lines, f"exit {found.exit_code}: {found.summary}"]) + "\n"
