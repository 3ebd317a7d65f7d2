"""The names of tools among several servers: a tool's own, or `server.tool` where two have one of that name. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Mapping, Optional, Sequence, Set

__all__ = ["Names", "Target", "plain_uri"]


class Target:
    """The tool that a call means: `server`, `name` (its own there), `key` (what it is recorded and faulted under)."""

    __slots__ = ("key", "name", "server")

    def __init__(self, server: str, name: str, key: str) -> None:
        self.server = server
        self.name = name
        self.key = key


class Names:
    """`tools`: server -> the names of its tools that the agent may see."""

    def __init__(self, tools: Mapping[str, Sequence[str]]) -> None:
        self._tools: Dict[str, Set[str]] = {server: set(names) for server, names in tools.items()}
        self._owners: Dict[str, List[str]] = {}
        for server, names in self._tools.items():
            for name in names:
                self._owners.setdefault(name, []).append(server)

    def key(self, server: str, tool: str) -> str:
        """What the tool of that server is recorded under."""
        is_shared = len(self._owners.get(tool, ())) > 1 or self._qualified(tool, other_than=server) is not None
        return f"{server}.{tool}" if is_shared else tool

    def resolve(self, server: Optional[str], tool: str) -> Optional[Target]:
        """The tool that `tool` means, asked of one server or of all; None if there is none, or more than one."""
        if server is not None:
            return self._of_server(server, tool)
        owners = self._owners.get(tool, [])
        if len(owners) == 1 and self._qualified(tool, other_than=owners[0]) is None:
            return self._target(owners[0], tool)
        return self._qualified(tool)

    def _of_server(self, server: str, tool: str) -> Optional[Target]:
        own = self._tools.get(server, set())
        if tool in own:
            return self._target(server, tool)
        prefix, _, name = tool.partition(".")
        return self._target(server, name) if prefix == server and name in own else None

    def _qualified(self, name: str, other_than: Optional[str] = None) -> Optional[Target]:
        """What `server.tool` names. A server's name holds no dot."""
        server, dot, tool = name.partition(".")
        if not dot or server == other_than or tool not in self._tools.get(server, ()):
            return None
        return self._target(server, tool)

    def _target(self, server: str, tool: str) -> Target:
        return Target(server, tool, self.key(server, tool))


def plain_uri(uri: str) -> str:
    """A URI without what may be spelled in several ways: percent-encoding, case of scheme and host, a fragment."""
    text = _decoded(uri.partition("#")[0].strip())
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


def _decoded(uri: str) -> str:
    pieces = uri.encode("utf-8", "backslashreplace").split(b"%")
    decoded = bytearray(pieces[0])
    for piece in pieces[1:]:
        try:
            decoded += bytes.fromhex(piece[:2].decode("ascii")) + piece[2:]
        except ValueError:
            decoded += b"%" + piece
    return decoded.decode("utf-8", "replace")
