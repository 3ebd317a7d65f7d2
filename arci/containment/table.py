"""The suite's results for people, and its claims as the page of the reference. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arci.containment.groups import GROUPS, Group
from arci.containment.judge import Row
from arci.report.escape import fold

__all__ = ["render_page", "render_rows"]

_WIDTH = 100
_HEAD = """# The containment suite

`arci doctor --containment` runs every agent of this table on your engine: as the candidate of real experiments, each
beside an honest agent that does the same task in the other arm, a few trials at once. A claim is *contained* if its
trial ends as the table says and within its deadline, the record shows what the agent did, the honest agent beside it
passes, nothing of the run is left on the engine, the run's store holds, and the verdict is not PASS. Honest agents in
slots where attackers were before must pass as well. Exit 0: all contained; 3 else. `--json` gives a list of objects
with `name`, `claim`, `contained`, `outcome`, `ending`, `seconds`, `left` and `why`.

`PASS` stands where the agent does its task besides, and so does no harm. The programs are in
`arci/containment/programs`; those of the group `shell` run in an image without Python, which declares a volume.

What no engine contains, and the suite does not claim:

- **A Python agent's `rng`** is made from the trial's seed, as the descriptor's reader may rely on. Who tries small
  numbers finds the seed behind it, and with it the world's draws: against hostile agents give `base_seed` a large
  number drawn by chance, as the suite does. `ARCI_SEED` is keyed and cannot be searched.
- **An environment without `crash: fail`** that an agent can kill by a call makes its trial ERROR, not FAIL: never a
  PASS of the experiment, but no verdict either. The same holds for an oracle that raises. `crash-environment` runs
  with `crash: fail`.
- **`infra_exit_codes`** (75 for commands unless the descriptor says otherwise) are taken at the agent's word: a
  command that is not trusted gets `infra_exit_codes: []`, as here.

| claim | the agent | group | outcome | ending |
|---|---|---|---|---|
"""


def render_rows(rows: Sequence[Row]) -> str:
    """Text of at most 100 columns, ended by a newline."""
    return "\n".join(line.rstrip() for line in _lines(rows)) + "\n"


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    yield f"{'':9} {'claim':<24} {'outcome':<8} {'ending':<12} {'seconds':>7}  left"
    for row in rows:
        word = "contained" if row.contained else "BROKEN"
        yield f"{word:<9} {row.name:<24} {row.outcome:<8} {row.ending:<12} {row.seconds:>7.2f}  {len(row.left)}"
        for reason in row.why:
            yield from fold(reason, " " * 12, " " * 14, _WIDTH)
    broken = sum(not row.contained for row in rows)
    yield ""
    yield f"{broken} of {len(rows)} are not contained (exit 3)." if broken else f"All {len(rows)} contained."


def render_page(groups: Sequence[Group] = GROUPS) -> str:
    """docs/reference/containment.md."""
    lines = [
        f"| `{claim.name}` | {claim.breaks} | {group.name} | {claim.outcome} | {claim.ending} |"
        for group in groups
        for claim in group.claims
    ]
    return _HEAD + "\n".join(lines) + "\n"
