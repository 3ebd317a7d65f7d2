"""Loading user code, and showing how it failed.

Guests start without site-packages and switch them on just before they import the user's module.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, List, Optional

__all__ = ["NotFound", "enable", "load", "message_of", "show_error", "text_of_error"]

_RUNTIME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OWN = os.path.join(_RUNTIME, "arci") + os.sep
_searched: List[str] = []
"""Where user code is looked for, before the installed packages."""


class NotFound(ImportError):
    """The module of a reference is nowhere. Its text says all: it is shown without traceback and kind."""


def enable(root: str) -> None:
    """Give user code the path it would have as a program in `root`: `root`, PYTHONPATH, Python's own, site-packages.

    ARCI's runtime comes last, so that `arci.agent` can be imported and nothing is shadowed. Garbage is collected from
    now on, as in any program.
    """
    gc.enable()
    sys.pycache_prefix = None  # it was for our own modules: an image's bytecode lies beside its sources
    declared = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]  # -I hid it from the interpreter
    own = [p for p in sys.path if p != _RUNTIME]
    _searched[:] = [os.path.abspath(root), *declared]
    sys.path[:] = [*_searched, *own]
    import site

    site.main()
    if _RUNTIME not in sys.path:
        sys.path.append(_RUNTIME)


def load(reference: str) -> Callable[..., Any]:
    """What `module:function` names (`module:object.method` too). NotFound if there is no such module; what its import
    raises passes through."""
    module, _, path = reference.partition(":")
    if not module or not path:
        raise ValueError(f"reference {reference!r}: module:function is allowed")
    try:
        __import__(module)
    except ModuleNotFoundError as error:
        trace = error.__traceback__
        is_from_within = trace is not None and trace.tb_next is not None
        if is_from_within or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise NotFound(_not_found(error.name or module)) from None
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
    if isinstance(error, NotFound):
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def show_error(error: BaseException) -> None:
    """Print the traceback to stderr, from the user's code on, without importing `traceback`."""
    if isinstance(error, NotFound):
        sys.stderr.write(f"{message_of(error)}\n")
    else:
        trace = error.__traceback__
        while trace is not None and _is_ours(trace):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    sys.stderr.flush()


def _is_ours(trace: TracebackType) -> bool:
    """Whether a frame says nothing of the user's code: what imports it, and what leads to another frame."""
    name = trace.tb_frame.f_code.co_filename
    if name == load.__code__.co_filename or name.startswith("<frozen importlib"):
        return True
    return trace.tb_next is not None and name.startswith(_OWN)


def _not_found(module: str) -> str:
    places = _searched or [os.getcwd()]
    near = _near(module.rpartition(".")[2], os.path.join(places[0], *module.split(".")[:-1]))
    meant = f" Did you mean {near!r}?" if near is not None else ""
    return f"no module {module!r} (looked in {', '.join(places)} and among the installed packages).{meant}"


def _near(name: str, directory: str) -> Optional[str]:
    """The module of a directory that was probably meant."""
    from difflib import get_close_matches

    try:
        found = os.listdir(directory)
    except OSError:
        return None
    there = {entry.partition(".")[0] for entry in found if "." not in entry or entry.endswith(".py")}
    return next(iter(get_close_matches(name, sorted(there), n=1)), None)
