"""What a Python agent imports from ARCI: the errors of a tool call, and the shape of what it is handed.

An agent is a function `agent(task, tools, rng) -> dict`. It may import from here:
`from arci.agent import ToolFault`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from random import Random
    from typing import Any, Dict, Protocol

    class Tools(Protocol):
        """The agent's only way to its tools. Safe to use from several threads at once."""

        def call(self, name: str, /, **arguments: Any) -> Any:
            """Call the tool `name` and return its value (JSON: dict, list, str, int, float, bool or None).

            Arguments and value are copies: changing them changes nothing elsewhere. Raises `ToolFault` if the call
            failed, `BudgetExceeded` once a budget of the trial is used up, TypeError if an argument is not JSON.
            """

        def note_model_step(self, summary: str, /, **facts: Any) -> None:
            """Record one step of the agent's model: a line of text, and facts (JSON). Counted by `max_model_steps`.

            Raises `BudgetExceeded` once a budget of the trial is known to be used up.
            """

    class Agent(Protocol):
        """`task`: the task, a JSON object. `rng`: seeded for this trial; the same for both arms.

        The dict that is returned (JSON) is the agent's own claim: kept in the record, never counted as success.
        """

        def __call__(self, task: Dict[str, Any], tools: Tools, rng: Random) -> Dict[str, Any]: ...


__all__ = ["BudgetExceeded", "ToolFault"]


class ToolFault(Exception):
    """A tool call that failed. An agent may catch it and go on.

    `kind` is one of `timeout` (no answer in time; the call may or may not have been executed), `error` (the tool
    failed), `refused` (not allowed or not well formed, not executed), `environment` (the environment is gone).
    `detail` is the text that came with it.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(kind, detail)
        self.kind = kind
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class BudgetExceeded(Exception):
    """A budget of the trial is used up: every further call raises this too, and the trial counts as failed.

    Catching it helps nothing; let it end the agent.
    """
