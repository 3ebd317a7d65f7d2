"""The matrix as tables: for a terminal, and as the reference page `docs/reference/clients.md`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matrix.experiment import STEPS, Cell
from matrix.table import CLIENTS, LEGACY, NODE, Client

__all__ = ["markdown", "text"]

HEADS = (
    *("client", "version", "mode", "transport", "era", "revision"),
    *("discovery", "tools/list", "faulted call", "clean calls", "no violation"),
)

INTRODUCTION = f"""\
<!-- Made by `make matrix`; edit tests/matrix/page.py, or what it reads. -->
# MCP clients

Clients that were not written for ARCI, as their registries have them. Each is a
[command agent](descriptor.md#an-arm) in a container of its own and meets the tools of a Python toolset through the
boundary: over stdio (`ARCI_MCP_COMMAND` or `ARCI_MCP_CONFIG`) and over Streamable HTTP (`ARCI_MCP_URL`). The first
call of a tool is met by `tool_error_once`. A client gets along if it

- finds out what the boundary speaks, and comes to the revision that is its newest in that mode (**discovery**),
- sees every tool (**tools/list**),
- sees the injected failure as its framework shows a tool's error, and goes on (**faulted call**),
- calls again, and orders exactly what it was told: the tools' own state is the judge of that (**clean calls**),
- gives the boundary no cause to record a violation of the protocol (**no violation**).

Frameworks of agents are driven by a scripted model, so nothing here needs a network. `make matrix` builds the images,
runs all of it on your engine and writes this page; one client of each kind also runs in `make test`. Python clients run
on the Python of ARCI's base image, those of npm on Node {NODE}.
"""


def text(cells: Iterable[Cell]) -> str:
    """Aligned columns, and below them what went wrong where something did."""
    found = list(cells)
    lines = [HEADS, *(_line(cell) for cell in found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    table = ["  ".join(f"{v:{w}}" for v, w in zip(line, widths, strict=True)).rstrip() for line in lines]
    bad = [f"\n{cell.row.id} over {cell.transport}: {cell.detail}" for cell in found if not cell.is_good]
    return "\n".join([*table, *bad])


def markdown(cells: Iterable[Cell]) -> str:
    """The whole reference page."""
    results = _table(HEADS, [_line(cell) for cell in cells])
    reasons = _table(("client", "package", "why it is here"), [_reason(client) for client in CLIENTS])
    parts = (INTRODUCTION, "## What came of it\n", results, "## Which, and why\n", reasons)
    return "\n".join(parts)


def _line(cell: Cell) -> tuple[str, ...]:
    client, revision = cell.row.client, cell.revision or ""
    era = "" if not revision else "legacy" if revision <= LEGACY else "modern"
    steps = ("yes" if cell.steps[step] else "NO" for step in STEPS)
    return (client.title, client.version or "", cell.row.mode.name, cell.transport, era, revision, *steps)


def _reason(client: Client) -> tuple[str, ...]:
    packages = ", ".join(f"`{package}`" for package in client.packages)
    return client.title, packages or "none", client.why


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rules = ["---"] * len(heads)
    return "".join(f"| {' | '.join(line)} |\n" for line in [heads, rules, *lines])
