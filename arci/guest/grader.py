"""The grader: the user's oracle over the final state, answered with one frame on stdout. A program."""

from __future__ import annotations

import os
import sys

from arci.guest import usercode
from arci.guest.options import options
from arci.guest.streams import read_all, write_all
from arci.wire.quickjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Sequence

__all__ = ["grade", "main", "takes_evidence"]


def main(argv: Sequence[str]) -> int:
    """Exit code 0 with a verdict, 1 with an error in the frame."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever the oracle prints goes to the log; the frame has the stream to itself
    asked = options(argv, ["ref", "root"])
    request = loads(read_all(0))
    verdict = grade(asked["ref"], asked["root"], request)
    frame = {"type": "grade", "nonce": request["nonce"], **verdict}
    sys.stdout.flush()
    write_all(out, dumps(frame, ascii_only=True).encode("ascii") + b"\n")
    sys.stderr.flush()
    # Not sys.exit: a thread that the oracle left behind must not hold back a verdict that was given.
    os._exit(0 if "success" in verdict else 1)


def grade(reference: str, root: str, request: Dict[str, Any]) -> Dict[str, Any]:
    """`{"success": bool}`, or `{"error": {"kind", "message"}}`; `kind` is `import`, `exception` or `not_bool`."""
    try:
        usercode.enable(root)
        oracle = usercode.load(reference)
    except BaseException as error:
        return _failed("import", error)
    values = [request["task"], request["final_state"]]
    try:
        if takes_evidence(oracle):
            values.append(request["evidence"])
        answer = oracle(*values)
    except BaseException as error:  # SystemExit too: an oracle that exits has not judged
        return _failed("exception", error)
    if not isinstance(answer, bool):
        message = f"oracle {reference} returned {type(answer).__name__} {answer!r:.200}; a bool is required"
        return {"error": {"kind": "not_bool", "message": message}}
    return {"success": answer}


def takes_evidence(oracle: Callable[..., Any]) -> bool:
    """Whether the oracle takes `(task, final_state, evidence)`: it requires three, or calls its third `evidence`."""
    names, required = _positional(oracle)
    return required >= 3 or (len(names) >= 3 and names[2] == "evidence")


def _positional(function: Callable[..., Any]) -> tuple[Sequence[str], int]:
    """Names of the positional parameters that a caller sees, and how many have no default."""
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None)
    if code is None or hasattr(plain, "__wrapped__"):
        return _positional_by_inspect(function)
    names = code.co_varnames[: code.co_argcount]
    required = len(names) - len(plain.__defaults__ or ())
    is_bound = plain is not function
    return (names[1:], required - 1) if is_bound else (names, required)


def _positional_by_inspect(function: Callable[..., Any]) -> tuple[Sequence[str], int]:
    import inspect  # 10 ms, so only for what is no plain function

    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    return [p.name for p in found], sum(p.default is p.empty for p in found)


def _failed(kind: str, error: BaseException) -> Dict[str, Any]:
    usercode.show_error(error)
    return {"error": {"kind": kind, "message": usercode.text_of_error(error)[:10_000]}}
