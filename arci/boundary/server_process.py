"""What an MCP server's process is given: its argv, its directory, its environment, the task. Pure."""

from __future__ import annotations

from arci.boundary.message import Launch
from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from arci.boundary.terms import ServerTerms, Terms

__all__ = ["LONGEST_TASK_VARIABLE", "launch_of"]

LONGEST_TASK_VARIABLE = 32 * 1024
"""Bytes of the task in `ARCI_TASK`; a longer one is in `ARCI_TASK_FILE` alone."""


def launch_of(server: ServerTerms, trial: Terms, number: int) -> Launch:
    """The start of the `number`-th server (from 0) with an argv of its own; its process has the server's name."""
    task = dumps(trial.task)
    data = task.encode("utf-8", "backslashreplace")
    env = {"HOME": server.workdir, "ARCI_TASK_FILE": server.task_file, "ARCI_SEED": str(trial.seed)}
    if len(data) <= LONGEST_TASK_VARIABLE:
        env["ARCI_TASK"] = data.decode("utf-8")
    return Launch(
        server.name,
        list(server.argv or ()),
        {**env, **server.env},
        server.workdir,
        file=(server.task_file, data),
        number=number,
    )
