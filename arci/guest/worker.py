"""The worker: runs a Python agent against the boundary and hands its result over. A program."""

from __future__ import annotations

import os
import sys

from arci.guest import usercode
from arci.guest.link import LOST, Link, Refused, dial
from arci.guest.options import options
from arci.guest.tools import RemoteTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Sequence

__all__ = ["main"]

CRASHED = 1
"""Exit code of an agent that raised, could not be imported, or did not return a dict."""


class _Crash(Exception):
    """The agent has failed and was reported; `code` is what the process ends with."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _NoTrial(Exception):
    """The boundary has no trial for this worker: not the agent's fault."""


def main(argv: Sequence[str]) -> int:
    asked = options(argv, ["ref", "root", "dial", "token"])
    sys.argv[:] = [asked["ref"].partition(":")[0]]  # the user's module must find an argv of its own
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # what was printed before a kill is in the log
    tools = RemoteTools()
    try:
        link = Link(dial(asked["dial"]), asked["token"], lambda method, params: _notice(tools, method, params))
    except OSError as error:
        os.write(2, f"arci: the boundary cannot be reached at {asked['dial']}: {error}\n".encode())
        return LOST
    try:
        return _run(link, tools, asked["ref"], asked["root"])
    except _Crash as crash:
        return crash.code
    except _NoTrial as error:
        os.write(2, f"arci: {error}\n".encode())
        return LOST


def _run(link: Link, tools: RemoteTools, reference: str, root: str) -> int:
    trial = _asked(link, "arci/trial")
    agent = _imported(link, reference, root)
    rng = _restored(trial["rng_state"])
    _asked(link, "arci/ready")
    tools.attach(link)
    try:
        claim = agent(trial["task"], tools, rng)
    except SystemExit as error:
        return _exited(link, error)
    except BaseException as error:
        raise _reported(link, error) from None
    return _handed_over(link, tools, claim)


def _asked(link: Link, method: str) -> Any:
    try:
        return link.request(method, {})
    except Refused as error:
        raise _NoTrial(str(error)) from None


def _imported(link: Link, reference: str, root: str) -> Callable[..., Any]:
    try:
        usercode.enable(root)
        return usercode.load(reference)
    except BaseException as error:  # SystemExit too: a module that exits on import is no agent
        raise _reported(link, error) from None


def _restored(state: Sequence[Any]) -> Any:
    from random import Random

    rng = Random()
    rng.setstate((state[0], tuple(state[1]), state[2]))
    return rng


def _handed_over(link: Link, tools: RemoteTools, claim: Any) -> int:
    """Hand over what the agent returned, unless it is no result."""
    if tools.latched is not None:
        return _failed(link, "BudgetExceeded", tools.latched)
    if not isinstance(claim, dict):
        return _failed(link, "TypeError", f"the agent returned {type(claim).__name__}; a dict is required")
    try:
        link.request("arci/result", {"claim": claim})
    except (TypeError, ValueError, RecursionError) as error:
        return _failed(link, "TypeError", f"the agent's dict is not JSON: {error}")
    except Refused as error:  # a budget that was used up without the agent's hearing of it, or a dict beyond limits
        return _failed(link, "BudgetExceeded" if tools.latched is not None else "ValueError", str(error))
    return 0


def _exited(link: Link, error: SystemExit) -> int:
    """`sys.exit` keeps its code, as it would in a program. Code 0 is no failure, and no result either."""
    code = error.code
    if code is None or code == 0:
        return 0
    if not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    _tell_failure(link, "SystemExit", str(error.code))
    return code


def _reported(link: Link, error: BaseException) -> _Crash:
    _tell_failure(link, type(error).__name__, usercode.message_of(error))
    usercode.show_error(error)
    return _Crash(CRASHED)


def _failed(link: Link, kind: str, message: str) -> int:
    _tell_failure(link, kind, message)
    sys.stderr.write(f"{kind}: {message}\n")
    return CRASHED


def _tell_failure(link: Link, kind: str, message: str) -> None:
    """Waits for the answer: the failure must have arrived before the process ends."""
    try:
        link.request("arci/failure", {"kind": kind, "message": message[:10_000]})
    except Refused:
        pass  # a result was given before; the first counts
    except ValueError:
        link.request("arci/failure", {"kind": kind, "message": "(its text is no Unicode)"})


def _notice(tools: RemoteTools, method: str, params: Dict[str, Any]) -> None:
    if method == "notifications/arci/latched":
        tools.latch(str(params.get("detail")))
