"""Where a request for an upstream goes: `/up/NAME/...`, or `/TOKEN/up/NAME/...`. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

__all__ = ["UpstreamPlace", "place_of"]


class UpstreamPlace:
    """`token` is None where the place does not name one; `path` is below the upstream's base URL, with the query."""

    __slots__ = ("name", "path", "token")

    def __init__(self, token: Optional[str], name: str, path: str) -> None:
        self.token = token
        self.name = name
        self.path = path

    @property
    def route(self) -> str:
        """The path without the query."""
        return self.path.partition("?")[0]


def place_of(target: str) -> Optional[UpstreamPlace]:
    """None for a target that is no place of an upstream."""
    path, mark, query = target.partition("?")
    parts = path.split("/")
    if parts[:2] == ["", "up"]:
        token, rest = None, parts[2:]
    elif len(parts) > 2 and parts[0] == "" and parts[2] == "up":
        token, rest = parts[1], parts[3:]
    else:
        return None
    return UpstreamPlace(token, rest[0] if rest else "", "/" + "/".join(rest[1:]) + mark + query)
