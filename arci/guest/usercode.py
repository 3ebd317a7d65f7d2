"""Loading user code, and showing how it failed.

Guests start without site-packages and switch them on just before they import the user's module.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = ["enable", "load", "message_of", "show_error", "text_of_error"]

_RUNTIME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OWN = os.path.join(_RUNTIME, "arci") + os.sep


def enable(root: str) -> None:
    """Give user code the path it would have as a program in `root`: `root`, PYTHONPATH, Python's own, site-packages.

    ARCI's runtime comes last, so that `arci.agent` can be imported and nothing is shadowed.
    """
    sys.pycache_prefix = None  # it was for our own modules: an image's bytecode lies beside its sources
    declared = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]  # -I hid it from the interpreter
    own = [p for p in sys.path if p != _RUNTIME]
    sys.path[:] = [os.path.abspath(root), *declared, *own]
    import site

    site.main()
    if _RUNTIME not in sys.path:
        sys.path.append(_RUNTIME)


def load(reference: str) -> Callable[..., Any]:
    """What `module:function` names (`module:object.method` too). What the import raises passes through."""
    module, _, path = reference.partition(":")
    if not module or not path:
        raise ValueError(f"reference {reference!r}: module:function is allowed")
    __import__(module)
    target: Any = sys.modules[module]
    for name in path.split("."):
        target = getattr(target, name)
    if not callable(target):
        raise TypeError(f"reference {reference!r}: {type(target).__name__} is not callable")
    found: Callable[..., Any] = target
    return found


def message_of(error: BaseException) -> str:
    """The text of an exception, even of one whose own `__str__` raises."""
    try:
        return str(error)
    except Exception:
        return "(no text: its __str__ raised)"


def text_of_error(error: BaseException) -> str:
    """`TypeName: message`."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def show_error(error: BaseException) -> None:
    """Print the traceback to stderr, from the user's code on, without importing `traceback`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    sys.stderr.flush()
