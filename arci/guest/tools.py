"""The `tools` object that a Python agent is handed: calls over the link, failures as exceptions, the budget latch."""

from __future__ import annotations

import os

from arci.agent import BudgetExceeded, ToolFault
from arci.faults.answer import Answer
from arci.guest.link import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.guest.link import Link

__all__ = ["RemoteTools"]


class RemoteTools:
    """See `arci.agent.Tools`. Safe to use from several threads."""

    def __init__(self) -> None:
        self._link: Optional[Link] = None
        self._latched: Optional[str] = None
        self._pid = os.getpid()

    def attach(self, link: Link) -> None:
        self._link = link

    @property
    def latched(self) -> Optional[str]:
        """The budget that is used up, in words. Never reset: an agent that swallows the exception gains nothing."""
        return self._latched

    def latch(self, detail: str) -> None:
        if self._latched is None:
            self._latched = detail

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool and return its value. Raises ToolFault, BudgetExceeded; TypeError if it is not JSON."""
        if not isinstance(name, str):
            raise TypeError(f"tools.call: the name is {type(name).__name__}; a str is required")
        self._check()
        try:
            result = self._ask("tools/call", {"name": name, "arguments": arguments})
        except (TypeError, ValueError) as error:
            raise TypeError(f"tools.call({name!r}): arguments must be JSON: {error}") from None
        except Refused as error:
            raise ToolFault("refused", str(error)) from None
        answer = Answer(result)
        if answer.kind == "budget":
            self.latch(answer.detail)
        self._check()
        if not answer.ok:
            raise ToolFault(answer.kind or "error", answer.detail)
        return answer.value

    def note_model_step(self, summary: str, /, **facts: Any) -> None:
        """Record one step of the agent's model."""
        if not isinstance(summary, str):
            raise TypeError(f"tools.note_model_step: the summary is {type(summary).__name__}; a str is required")
        self._check()
        try:
            self._use().notify("notifications/arci/model_step", {"summary": summary, "facts": facts})
        except (TypeError, ValueError) as error:
            raise TypeError(f"tools.note_model_step: facts must be JSON: {error}") from None

    def _ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        result: Dict[str, Any] = self._use().request(method, params)
        return result

    def _use(self) -> Link:
        if self._link is None:
            raise RuntimeError("tools are there once the agent runs, not while its module is imported")
        if os.getpid() != self._pid:  # answers go to the process that was there first
            raise RuntimeError("tools cannot be used in a forked process; use threads, or call them in the parent")
        return self._link

    def _check(self) -> None:
        if self._latched is not None:
            raise BudgetExceeded(self._latched)
