"""`make matrix`: every row on the real engine, the table on stdout, the reference page. Names of rows: those alone."""

from __future__ import annotations

import sys
from pathlib import Path

from matrix.experiment import Cell, run_row
from matrix.page import markdown, text
from matrix.table import rows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "clients.md"
WORK = ROOT / "build" / "matrix"


def main(names: list[str]) -> int:
    """0 if every client got along over every transport. The page is written by a run of all rows."""
    wanted = [row for row in rows() if not names or row.id in names or row.client.id in names]
    if not wanted:
        known = ", ".join(row.id for row in rows())
        sys.stderr.write(f"matrix: no row is named {' or '.join(names)}; there are {known}\n")
        return 64
    cells: list[Cell] = []
    for row in wanted:
        sys.stderr.write(f"matrix: {row.id}\n")
        cells.extend(run_row(row, WORK / row.id))
    sys.stdout.write(text(cells) + "\n")
    if not names:
        PAGE.write_text(markdown(cells), encoding="utf-8")
    return 0 if all(cell.is_good for cell in cells) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
