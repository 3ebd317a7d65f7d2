"""Writes the reference pages that are made from the program itself: command line, faults, hostile agents.

`python scripts/generate_docs.py` after a change of one; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from arci.cli import arci
from arci.containment.table import render_page
from arci.faults.registry import BUILTIN
from arci.faults.settings import DECISION, MODEL, TOOL, Kind, Setting

__all__ = ["PAGES", "cli_page", "contexts", "faults_page"]

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Made by scripts/generate_docs.py; edit that, or what it reads. -->"
WIDTH = 100

CLI_INTRODUCTION = """\
# The command line

Results go to stdout, everything else to stderr. `--json` gives one JSON document in place of text. On a terminal
`arci run` shows a live line, else one line a minute: counts and time left, never rates. The exit code of `arci run` and
`arci gate` is the verdict: [what it means](../explanation/verdicts.md)."""

FAULTS_INTRODUCTION = """\
# Faults

A fault disturbs a call at the boundary, between the agent and the world: of a tool, of a model, or of the decision
endpoint. A condition lists them in the order in which they are applied: the first that keeps a call from being
executed, or loses its answer, shadows those behind it.

```yaml
conditions:
  - id: slow-and-lost
    faults:
      - {name: latency, tool: charge, occurrence: every, params: {ms: 200}}
      - {name: lost_response, tool: charge, occurrence: {from: 1}, probability: 0.5}
```

Which calls are met (`tool`, `occurrence`, `probability`, from the trial's seed, so the same in both arms), `bucket` and
`min_injections`: [the descriptor](descriptor.md#a-fault). Faults of your own: [add a fault](../how-to/add-a-fault.md).

An agent that is told of a timeout does not learn whether the call was executed: `tool_timeout` and `lost_response` look
alike to it, and no text names an injection. An answer that is emptied, replaced or cut is rewritten as text and as
structured content together, and need not fit the tool's declared schema.

## Of tools
"""

MODEL_INTRODUCTION = """\
## Of models

`tool` is left out (every model upstream) or `model:NAME`; `occurrence` counts the calls of one upstream. An SDK that
tries again makes another call: `occurrence: 0` is met by its first try alone, `every` by each. What a fault answers has
the provider's own shape and says nothing of an injection. A call that is answered in place of the upstream counts
against `max_model_calls` and uses no tokens.
"""

DECISION_INTRODUCTION = """\
## Of decisions

`tool` is left out or `decision:systemone`. With n options of which the likeliest has the probability m, a choice has
the concentration (n * m - 1) / (n - 1): 1 is certain, 0 is uniform.
"""

TABLE = """\
| name | effect | `params` |
|---|---|---|"""


def contexts(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The contexts of the command and everything below it, as if each was called."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, parent=parent, info_name=name, **settings)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from contexts(found, below, context)


def cli_page() -> str:
    """`docs/reference/cli.md`."""
    helps = [f"## `{context.command_path}`\n\n```text\n{context.get_help()}\n```" for context in contexts(arci, "arci")]
    return "\n\n".join([CLI_INTRODUCTION, NOTE, *helps]) + "\n"


def faults_page() -> str:
    """`docs/reference/faults.md`."""
    sections = ((FAULTS_INTRODUCTION, TOOL), (MODEL_INTRODUCTION, MODEL), (DECISION_INTRODUCTION, DECISION))
    return "\n".join(_section(introduction, target) for introduction, target in sections) + f"\n{NOTE}\n"


def _section(introduction: str, target: str) -> str:
    rows = "\n".join(_row(kind) for kind in BUILTIN.values() if kind.target == target)
    return f"{introduction}\n{TABLE}\n{rows}\n"


def _row(kind: Kind) -> str:
    params = "; ".join(_told(setting) for setting in kind.settings) or "none"
    return f"| `{kind.name}` | {kind.summary} | {params} |"


def _told(setting: Setting) -> str:
    default = "none" if setting.default is None else f"{setting.default:g}"
    return f"`{setting.name}` ({default}): {setting.allowed}"


PAGES = {
    REFERENCE / "cli.md": cli_page,
    REFERENCE / "faults.md": faults_page,
    REFERENCE / "containment.md": render_page,
}


if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
        print(path)
