"""A Python toolset behind JSON-RPC, as an MCP server would be: one request in, one line out. No streams here."""

from __future__ import annotations

from arci.boundary.schema import describe
from arci.guest.usercode import show_error, text_of_error
from arci.wire.framing import MAX_LINE_BYTES
from arci.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, encode_strict, error_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from arci.wire.jsonrpc import Request

__all__ = ["ToolsetServer"]

_ANSWER_BYTES = MAX_LINE_BYTES + 1024
"""A value of 8 MiB still passes with what is around it."""


class _Unusable(Exception):
    """The toolset is not what it must be; the text says how."""


class ToolsetServer:
    """`load` imports the user's module and gives its factory `(task, seed) -> object with .tools and .snapshot()`."""

    def __init__(self, load: Callable[[], Callable[..., Any]]) -> None:
        self._load = load
        self._world: Any = None
        self._tools: Dict[str, Callable[..., Any]] = {}
        self._methods: Dict[str, Callable[[Dict[str, Any]], Any]] = {
            "arci/start": self._start,
            "arci/snapshot": self._snapshot,
            "tools/list": self._list,
            "tools/call": self._call,
        }

    def answer(self, request: Request) -> bytes:
        """The line that answers a request. What a tool raises is part of the answer; SystemExit passes through."""
        method = self._methods.get(request.method)
        if method is None:
            return error_line(request.id, METHOD_NOT_FOUND, f"method {request.method!r} is not known here")
        try:
            result = method(request.params)
            return encode_strict({"jsonrpc": "2.0", "id": request.id, "result": result}, _ANSWER_BYTES)
        except _Unusable as error:
            return error_line(request.id, INVALID_REQUEST, str(error))
        except (TypeError, ValueError, RecursionError) as error:  # of the encoding alone: the methods catch their own
            return self._not_json(request, error)

    def _start(self, params: Dict[str, Any]) -> Dict[str, Any]:
        try:
            world = self._load()(params["task"], params["seed"])
            tools, snapshot = world.tools, world.snapshot
        except Exception as error:
            show_error(error)
            raise _Unusable(f"toolset: {text_of_error(error)}") from error
        if not callable(snapshot):
            raise _Unusable("toolset: .snapshot must be callable")
        if not hasattr(tools, "items") or not all(isinstance(n, str) and callable(t) for n, t in tools.items()):
            raise _Unusable("toolset: .tools must be a mapping of names to callables")
        self._world, self._tools = world, dict(tools)
        return {}

    def _list(self, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"tools": [describe(name, tool) for name, tool in self._tools.items()]}

    def _call(self, params: Dict[str, Any]) -> Dict[str, Any]:
        tool = self._tools.get(params["name"])
        if tool is None:
            raise _Unusable(f"unknown tool {params['name']!r}")
        try:
            value = tool(**params["arguments"])
        except Exception as error:
            return _tool_error(text_of_error(error))
        return {"structuredContent": {"result": value}, "isError": False}

    def _snapshot(self, params: Dict[str, Any]) -> Dict[str, Any]:
        if self._world is None:
            raise _Unusable("the toolset did not start")
        try:
            state = self._world.snapshot()
        except Exception as error:
            show_error(error)
            raise _Unusable(text_of_error(error)) from error
        if not isinstance(state, dict):
            raise _Unusable(f".snapshot() returned {type(state).__name__}; a dict is required")
        return {"state": state}

    def _not_json(self, request: Request, error: Exception) -> bytes:
        """A value that cannot be sent: the tool's error, since an agent may have brought it about."""
        if request.method != "tools/call":
            return error_line(request.id, INVALID_PARAMS, f"{request.method}: not JSON: {error}")
        result = _tool_error(f"tool {request.params['name']!r} returned what is not JSON: {error}")
        return encode_strict({"jsonrpc": "2.0", "id": request.id, "result": result}, _ANSWER_BYTES)


def _tool_error(text: str) -> Dict[str, Any]:
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")[:100_000]
    return {"content": [{"type": "text", "text": safe}], "isError": True}
