"""The state of an MCP server for the grader, as its descriptor says: from a tool, a resource or a function. Sans-io."""

from __future__ import annotations

from arci.boundary.asked import ANSWERED, OVERDUE
from arci.wire.strict import read, shape_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple

    from arci.boundary.link import Link
    from arci.boundary.source import TellState
    from arci.wire.jsonrpc import Response

    State = Optional[Dict[str, Any]]

__all__ = ["ask_for_state", "state_of_resource", "state_of_text", "state_of_tool"]


def ask_for_state(link: Link, snapshot: Dict[str, Any], seconds: float, tell: TellState) -> None:
    """Take a snapshot of kind `tool` or `resource`; `tell` as `source.TellState` says."""
    is_tool = snapshot["kind"] == "tool"
    what = f"tool {snapshot['tool']!r}" if is_tool else f"resource {snapshot['uri']!r}"

    def done(how: str, response: Optional[Response]) -> None:
        if how == OVERDUE:
            tell(None, f"{what}: no answer within {seconds:g} s")
        elif how == ANSWERED and response is not None:
            state, problem = _state(response, is_tool)
            tell(state, f"{what}: {problem}" if problem else None)
        else:
            tell(None, "")  # its death was told when it was seen

    if is_tool:
        params = {"name": snapshot["tool"], "arguments": snapshot.get("arguments") or {}}
        link.request("tools/call", params, seconds, done)
    else:
        link.request("resources/read", {"uri": snapshot["uri"]}, seconds, done)


def _state(response: Response, is_tool: bool) -> Tuple[State, str]:
    if response.error is not None:
        return None, str(response.error.get("message"))[:500]
    if not isinstance(response.result, dict):
        return None, "answered without a result"
    return state_of_tool(response.result) if is_tool else state_of_resource(response.result)


def state_of_tool(result: Dict[str, Any]) -> Tuple[State, str]:
    """State and problem (empty if there is none): the structured content, else the first text."""
    text = _first(result.get("content"), "text")
    if result.get("isError") is True:
        return None, f"failed: {str(text)[:500]}"
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        return structured, ""
    return (None, "neither structured content nor a text") if text is None else state_of_text(text)


def state_of_resource(result: Dict[str, Any]) -> Tuple[State, str]:
    """The same of the first content of a resource; a blob stays base64."""
    contents = result.get("contents")
    contents = contents[:1] if isinstance(contents, list) else contents
    text, blob = _first(contents, "text"), _first(contents, "blob")
    if text is not None:
        return state_of_text(text)
    return (None, "no content") if blob is None else ({"base64": blob}, "")


def state_of_text(text: str) -> Tuple[State, str]:
    """A JSON object as it is, other JSON as `result`, anything else as `text`."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        value, problems = read(data) if shape_problem(data) is None else (None, ["too deep or too large"])
    except (ValueError, RecursionError):
        return {"text": text}, ""
    if problems:
        return None, f"its JSON is ambiguous: {'; '.join(problems)}"
    return (value if isinstance(value, dict) else {"result": value}), ""


def _first(blocks: Any, key: str) -> Optional[str]:
    """The string under `key` of the first block that has one."""
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and isinstance(block.get(key), str):
            text: str = block[key]
            return text
    return None
