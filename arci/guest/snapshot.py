"""Calls a snapshot function, `(task, workdir) -> JSON object`, and answers with one frame on stdout. A program."""

from __future__ import annotations

import os
import sys

from arci.guest import usercode
from arci.guest.options import options
from arci.guest.streams import read_all
from arci.wire.framing import MAX_CONTROL_BYTES
from arci.wire.jsonrpc import encode_strict
from arci.wire.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Sequence

__all__ = ["main", "take"]


def main(argv: Sequence[str]) -> int:
    """The task is read from stdin. Exit code 0 with `{"state": ...}`, 1 with `{"error": text}`."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever the function prints goes to the log; the frame has the stream to itself
    asked = options(argv, ["ref", "root", "workdir"])
    frame = take(asked["ref"], asked["root"], loads(read_all(0)), asked["workdir"])
    sys.stdout.flush()
    try:
        line = encode_strict(frame, MAX_CONTROL_BYTES)
    except (TypeError, ValueError, RecursionError) as error:
        frame = {"error": f"{asked['ref']} returned what is not JSON: {error}"[:1000]}
        line = encode_strict(frame, MAX_CONTROL_BYTES)
    while line:
        line = line[os.write(out, line) :]
    sys.stderr.flush()
    os._exit(0 if "state" in frame else 1)  # a thread that the function left behind must not hold back its answer


def take(reference: str, root: str, task: Dict[str, Any], workdir: str) -> Dict[str, Any]:
    """The frame. Whatever the user's code raises is part of it."""
    try:
        usercode.enable(root)
        state = usercode.load(reference)(task, workdir)
    except BaseException as error:  # SystemExit too: a function that exits has given no state
        usercode.show_error(error)
        return {"error": usercode.text_of_error(error)[:1000]}
    if not isinstance(state, dict):
        return {"error": f"{reference} returned {type(state).__name__}; a dict is required"}
    return {"state": state}
