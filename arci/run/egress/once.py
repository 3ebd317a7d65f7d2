"""One answer collected whole: what preflight asks with, outside any trial."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Reply"]


@dataclass(slots=True)
class Reply:
    """An answer of an upstream. `headers` have lower-case names; no part holds a key."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    async def head(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.status, self.headers = status, headers

    async def piece(self, data: bytes) -> None:
        self.body += data
