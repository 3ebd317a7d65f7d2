"""Answers decisions by the user's `module:function(request, seed, occurrence)`, a line each. A program."""

from __future__ import annotations

import os
import sys

from arci.guest import usercode
from arci.guest.options import options
from arci.guest.streams import write_all
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.jsonrpc import encode_strict
from arci.wire.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Sequence

__all__ = ["answer", "main"]


def main(argv: Sequence[str]) -> int:
    """Exit code 0 at the end of stdin, 1 where the function cannot be loaded."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever the function prints goes to the log; the answers have the stream to themselves
    asked = options(argv, ["ref", "root"])
    try:
        usercode.enable(asked["root"])
        function = usercode.load(asked["ref"])
    except Exception as error:
        usercode.show_error(error)
        return 1
    decoder = LineDecoder(MAX_CONTROL_BYTES)
    while True:
        data = os.read(0, 65536)
        if not data:
            return 0
        for line in decoder.feed(data):
            if isinstance(line, bytes):
                write_all(out, _line(answer(function, asked["ref"], loads(line))))


def answer(function: Callable[..., Any], reference: str, asked: Dict[str, Any]) -> Dict[str, Any]:
    """The frame. Whatever the user's code raises is part of it."""
    try:
        found = function(asked["request"], asked["seed"], asked["occurrence"])
    except Exception as error:
        usercode.show_error(error)
        return {"error": usercode.text_of_error(error)[:1000]}
    if not isinstance(found, dict):
        return {"error": f"{reference} returned {type(found).__name__}; a dict is required"}
    return {"answer": found}


def _line(frame: Dict[str, Any]) -> bytes:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return encode_strict(frame, MAX_CONTROL_BYTES)
    except (TypeError, ValueError, RecursionError) as error:
        return encode_strict({"error": f"the answer is not JSON: {error}"[:1000]}, MAX_CONTROL_BYTES)
