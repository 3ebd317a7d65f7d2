"""Run as a program, `importing.py ROOT MODULE:FUNCTION COUNT...`: can it be imported and called so. Knows no ARCI.

Imports what a person wrote, so it runs in a process of its own. Writes one JSON object to the file descriptor that was
its stdout; what the imported module prints goes to stderr.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import traceback
from typing import Any


def main(root: str, reference: str, counts: list[int]) -> dict[str, Any]:
    """`{}` if all is well; else `error`, and `missing` where a module was not found."""
    sys.path.insert(0, root)
    module, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        return {"error": f"ModuleNotFoundError: {error}", "missing": error.name or ""}
    except BaseException as error:
        line = traceback.format_exception_only(error)[-1].strip()
        return {"error": f"its import raises {line}{_place(error)}"}
    for name in path.split("."):
        if not hasattr(found, name):
            return {"error": f"{module} has no {path}"}
        found = getattr(found, name)
    return _callable(found, counts)


def _place(error: BaseException) -> str:
    """The last line of a person's own code on the way to the error."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if frame.filename != __file__]
    return f" ({own[-1].filename}:{own[-1].lineno})" if own else ""


def _callable(found: Any, counts: list[int]) -> dict[str, Any]:
    if not callable(found):
        return {"error": f"is {type(found).__name__}, not a function"}
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return {}  # it does not tell what it takes
    for count in counts:
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return {}
    return {"error": f"takes {signature}, and is called with {' or '.join(map(str, counts))} arguments"}


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        answer = main(sys.argv[1], sys.argv[2], [int(count) for count in sys.argv[3:]])
        answers.write(json.dumps(answer))
        answers.flush()
    os._exit(0)  # threads that the module started must not keep it here
