"""The answer of a tool: an MCP tool result, read and rewritten as a value. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

__all__ = ["Answer", "text_of"]


def text_of(value: Any) -> str:
    """The text of a value: a string as it is, anything else as compact JSON. ValueError or TypeError if not JSON."""
    if isinstance(value, str):
        return value
    return dumps(value)


class Answer:
    """An MCP tool result, never changed in place: `result` is shared, so make a new one instead."""

    __slots__ = ("raw", "result")

    def __init__(self, result: Dict[str, Any], raw: Optional[bytes] = None) -> None:
        self.result = result
        self.raw = raw
        """The bytes of `result` as the environment wrote them, if they are known: an answer that no fault changes keeps
        them."""

    @classmethod
    def of(cls, value: Any) -> Answer:
        """A successful answer with `value` (JSON), as text and as structured content."""
        content = [{"type": "text", "text": text_of(value)}]
        return cls({"content": content, "structuredContent": {"result": value}, "isError": False})

    @classmethod
    def failure(cls, kind: str, detail: str) -> Answer:
        """A failed call. `kind`: `timeout`, `error`, `refused`, `budget` or `environment`."""
        meta = {"arci": {"kind": kind, "detail": detail}}
        return cls({"content": [{"type": "text", "text": detail}], "isError": True, "_meta": meta})

    @property
    def ok(self) -> bool:
        return self.result.get("isError") is not True

    @property
    def value(self) -> Any:
        """The value: `structuredContent.result`, else the structured content, else the text."""
        structured = self.result.get("structuredContent")
        if isinstance(structured, dict):
            return structured["result"] if set(structured) == {"result"} else structured
        return self.text

    @property
    def text(self) -> str:
        """Its text blocks, joined by newlines."""
        content = self.result.get("content")
        blocks = content if isinstance(content, list) else []
        return "\n".join(str(b.get("text", "")) for b in blocks if isinstance(b, dict) and b.get("type") == "text")

    @property
    def kind(self) -> Optional[str]:
        """Why the call failed; None if it did not. An error of the tool itself is `error`."""
        return None if self.ok else str(self._arci().get("kind", "error"))

    @property
    def detail(self) -> str:
        """The text of a failure."""
        return str(self._arci().get("detail", self.text))

    def with_value(self, value: Any) -> Answer:
        """The same answer with another value: text and structured content are rewritten together."""
        structured = self.result.get("structuredContent")
        result = {**self.result, "content": [{"type": "text", "text": text_of(value)}]}
        if isinstance(structured, dict):
            wrapped = set(structured) == {"result"} or not isinstance(value, dict)
            result["structuredContent"] = {"result": value} if wrapped else value
        return Answer(result)

    def _arci(self) -> Dict[str, Any]:
        meta = self.result.get("_meta")
        arci = meta.get("arci") if isinstance(meta, dict) else None
        return arci if isinstance(arci, dict) else {}
