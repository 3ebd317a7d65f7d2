"""What a model said, read out of an answer, whatever the provider; tolerant, since answers are data. Pure."""

from __future__ import annotations

from arci.wire.quickjson import loads
from arci.wire.sse import data_of, split_events
from arci.wire.strict import shape_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

__all__ = ["ModelAnswer", "count_of", "events_of", "list_of", "object_of", "text_of", "usage_of", "value_of"]


class ModelAnswer:
    """`is_whole`: it could be read, and came to its end."""

    __slots__ = ("error", "is_whole", "model", "text", "tool_calls", "usage")

    def __init__(self) -> None:
        self.model: Optional[str] = None
        """As the answer names it."""
        self.text = ""
        self.tool_calls: List[Dict[str, Any]] = []
        """Each with `name` and `arguments`: JSON, or the text of what should have been."""
        self.usage: Optional[Dict[str, int]] = None
        """`input_tokens` (all), `output_tokens`, `cached_input_tokens` (of the input)."""
        self.error: Optional[str] = None
        """Told within a stream that had begun well."""
        self.is_whole = False

    def asks(self, name: Any, arguments: Any) -> None:
        """It wants a tool called; `arguments` as JSON text or JSON."""
        if isinstance(arguments, str):
            told = value_of(arguments.encode("utf-8", "surrogatepass"))
            arguments = arguments if told is None else told  # a model may write what is no JSON
        self.tool_calls.append({"name": text_of(name), "arguments": arguments})


def usage_of(input_tokens: Any, output_tokens: Any, cached_input_tokens: Any) -> Dict[str, int]:
    counts = (count_of(input_tokens), count_of(output_tokens), count_of(cached_input_tokens))
    return dict(zip(("input_tokens", "output_tokens", "cached_input_tokens"), counts))  # noqa: B905  # Python 3.9


def value_of(data: bytes) -> Any:
    """The JSON of a body, with null for NaN and the like, which no record can carry; None if it is none."""
    if shape_problem(data) is not None:
        return None
    try:
        return loads(data.decode("utf-8", "surrogatepass"), parse_constant=lambda text: None, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> Optional[float]:
    value = float(text)
    return None if value in (float("inf"), float("-inf")) else value


def events_of(stream: bytes) -> List[Dict[str, Any]]:
    """The JSON objects among the events of a stream. One that is none is left out."""
    found = (value_of(data_of(event).encode("utf-8", "surrogatepass")) for event in split_events(stream)[0])
    return [value for value in found if isinstance(value, dict)]


def object_of(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> List[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
