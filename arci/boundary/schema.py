"""MCP descriptions of Python tools: schemas from signatures and type hints, without importing `inspect` or `typing`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence

    Schema = Dict[str, Any]

__all__ = ["describe", "schema_of"]

_SIMPLE = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
}


def describe(name: str, tool: Callable[..., Any]) -> Dict[str, Any]:
    """The entry of `tools/list` for one tool; what a hint does not say is left open."""
    parameters, hints, takes_more = _parameters(tool)
    properties = {p.name: p.schema(hints) for p in parameters}
    input_schema: Schema = {"type": "object", "properties": properties}
    required = [p.name for p in parameters if not p.has_default]
    if required:
        input_schema["required"] = required
    if not takes_more:
        input_schema["additionalProperties"] = False
    entry = {"name": name, "description": _cleaned(getattr(tool, "__doc__", None) or ""), "inputSchema": input_schema}
    output = schema_of(hints["return"]) if "return" in hints else {}
    if output:
        entry["outputSchema"] = {"type": "object", "properties": {"result": output}, "required": ["result"]}
    return entry


class _Parameter:
    __slots__ = ("default", "has_default", "name")

    def __init__(self, name: str, has_default: bool, default: Any) -> None:
        self.name = name
        self.has_default = has_default
        self.default = default

    def schema(self, hints: Dict[str, Any]) -> Schema:
        schema = dict(schema_of(hints[self.name])) if self.name in hints else {}
        if self.has_default and isinstance(self.default, (str, int, float, bool)):
            schema["default"] = self.default
        return schema


def _parameters(tool: Callable[..., Any]) -> tuple[List[_Parameter], Dict[str, Any], bool]:
    """What a caller may name, the hints, and whether any further name is taken."""
    function = getattr(tool, "__func__", tool)
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return _parameters_by_inspect(tool)
    positional = list(code.co_varnames[: code.co_argcount])
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    values = function.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(values) :], values))  # noqa: B905  # Python 3.9
    defaults.update(function.__kwdefaults__ or {})
    names = [*positional[0 if function is tool else 1 :], *keyword_only]
    found = [_Parameter(name, name in defaults, defaults.get(name)) for name in names]
    return found, _hints(function), bool(code.co_flags & 0x08)  # CO_VARKEYWORDS


def _parameters_by_inspect(tool: Callable[..., Any]) -> tuple[List[_Parameter], Dict[str, Any], bool]:
    import inspect  # 10 ms, so only for what is no plain function

    try:
        signature = inspect.signature(tool)
    except (TypeError, ValueError):  # some callables written in C have none
        return [], {}, True
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    listed = [p for p in signature.parameters.values() if p.kind in kinds]
    hints = {p.name: p.annotation for p in listed if p.annotation is not p.empty}
    if signature.return_annotation is not signature.empty:
        hints["return"] = signature.return_annotation
    found = [_Parameter(p.name, p.default is not p.empty, p.default) for p in listed]
    scope = getattr(inspect.unwrap(tool), "__globals__", {})
    takes_more = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    return found, {name: _resolved(hint, scope) for name, hint in hints.items()}, takes_more


def _hints(function: Any) -> Dict[str, Any]:
    try:
        written = dict(function.__annotations__)
    except Exception:  # Python 3.14 evaluates hints here, and they may name what does not exist
        return {}
    return {name: _resolved(hint, function.__globals__) for name, hint in written.items()}


def _resolved(hint: Any, scope: Dict[str, Any]) -> Any:
    """A hint written as text (`from __future__ import annotations`) as its object; `X | Y` works on Python 3.9 too."""
    if not isinstance(hint, str):
        return hint
    try:
        return _resolved(eval(hint, scope), scope)  # the user's own code, in the user's own process; 'x' may be quoted
    except Exception:
        parts = hint.split(" | ")
        return _Either([_resolved(part, scope) for part in parts]) if len(parts) > 1 else _Unknown()


class _Unknown:
    """A hint that says nothing."""


class _Either:
    """`X | Y` where the interpreter has no such type."""

    __slots__ = ("__args__",)

    def __init__(self, parts: Sequence[Any]) -> None:
        self.__args__ = parts


def schema_of(hint: Any) -> Schema:
    """JSON Schema of a type hint; {} (anything) for what JSON has no type for."""
    if isinstance(hint, type(None)) or (isinstance(hint, type) and hint in _SIMPLE):
        return _SIMPLE[hint]
    origin: Any = getattr(hint, "__origin__", None)
    parts: Sequence[Any] = getattr(hint, "__args__", ())
    if hasattr(hint, "__metadata__"):  # Annotated[X, ...]
        return schema_of(origin)
    if isinstance(hint, _Either) or type(hint).__name__ in ("UnionType", "Union") or str(origin) == "typing.Union":
        return {"anyOf": [schema_of(part) for part in parts]}
    if str(origin) == "typing.Literal":
        return {"enum": list(parts)}
    if origin is list and len(parts) == 1:
        return {"type": "array", "items": schema_of(parts[0])}
    if origin is dict and len(parts) == 2:
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    return _SIMPLE.get(origin, {}) if isinstance(origin, type) else {}


def _cleaned(doc: str) -> str:
    """A docstring without its indentation, as `inspect.cleandoc` has it."""
    lines = doc.expandtabs().strip().splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    return "\n".join([*lines[:1], *(line[margin:].rstrip() for line in lines[1:])])
