"""The demo for people and for machines. Pure."""

from __future__ import annotations

import shlex
import textwrap
from typing import Any

from arci.demo.scene import Command, Scene, Step, Story

__all__ = ["render_end", "render_scene", "render_step", "shell_line", "story_document"]

_WIDTH = 100
_INDENT = "   "


def render_scene(scene: Scene) -> str:
    """What it is about, and where the commands are typed."""
    told = (
        "An order must be reserved, then confirmed. Agent A does that well; agent B is A after a change; agent C is "
        f"the repair. All of it is in {scene.directory}; typed there, the commands below do the same again (`arci run` "
        "with --force)."
    )
    return f"{textwrap.fill(told, _WIDTH)}\n"


def render_step(number: int, step: Step) -> str:
    """A line, a sentence or three, and the commands."""
    mark = "holds" if step.holds else "DOES NOT HOLD"
    shown = textwrap.fill(step.shows, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    lines = ["", f"{number}. {step.title}: {mark}", shown, *(f"{_INDENT}  {shell_line(c)}" for c in step.commands)]
    return "".join(f"{line}\n" for line in lines)


def render_end(story: Story) -> str:
    if story.holds:
        return f"\nAll {story.planned} steps hold.\n"
    left = story.planned - len(story.steps)
    return f"\nStep {len(story.steps)} does not hold{f'; {left} after it were not made' if left else ''}.\n"


def story_document(story: Story) -> dict[str, Any]:
    """The JSON object of `arci demo --json`."""
    return {
        "holds": story.holds,
        "exit_code": story.exit_code,
        "isolation": story.scene.backend,
        "n_per_arm": story.scene.n,
        "directory": str(story.scene.directory),
        "planned": story.planned,
        "steps": [_step_document(number, step) for number, step in enumerate(story.steps, start=1)],
    }


def shell_line(argv: Command) -> str:
    """The command as it is typed."""
    return shlex.join(argv)


def _step_document(number: int, step: Step) -> dict[str, Any]:
    return {
        "step": number,
        "title": step.title,
        "holds": step.holds,
        "shows": step.shows,
        "commands": [list(argv) for argv in step.commands],
        "facts": dict(step.facts),
    }
