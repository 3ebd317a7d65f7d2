"""The commands that come next for a group of failures, with the exact arguments. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from arci.diagnose.groups import Group
from arci.model.trial import Outcome

__all__ = ["file_name", "next_commands", "shell_line"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")


def next_commands(run: str, group: Group, *, has_partner: bool) -> dict[str, tuple[str, ...]]:
    """Name -> argv. A trial that broke has no failure of an agent's to minimise. Empty for a trial id that no terminal
    can be trusted with (a store of somebody else's may hold any)."""
    trial = group.representative
    if not trial.isprintable() or trial.startswith("-"):
        return {}
    name = file_name(trial)
    commands: dict[str, tuple[str, ...]] = {"show": ("arci", "show", run, trial)}
    if has_partner and group.partner is not None:
        commands["diff"] = ("arci", "diff", run, group.partner, trial)
    if group.outcome == Outcome.FAIL:
        commands["minimize"] = ("arci", "minimize", run, trial, "--out", f"{name}.smaller.arci.json")
    commands["bundle"] = ("arci", "bundle", run, trial, "--out", f"{name}.arci")
    return commands


def file_name(trial_id: str) -> str:
    """A file's name for what is made of a trial: `c:00012:candidate` gives `c-00012-candidate`."""
    return _UNSAFE.sub("-", trial_id).strip("-.")[:120] or "trial"


def shell_line(argv: Sequence[str]) -> str:
    """The command as it is typed."""
    return shlex.join(argv)
