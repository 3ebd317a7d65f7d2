"""The clients of the matrix: which, in what version, why that one, and what revision each mode must come to. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["CLIENTS", "LEGACY", "MODERN", "NODE", "TRANSPORTS", "Client", "Mode", "Row", "rows"]

LEGACY = "2025-11-25"
"""The newest revision that begins with `initialize`: what the boundary comes to with every client of that era."""
MODERN = "2026-07-28"
NODE = "22.20.0"
"""The inspector wants 22.19 or newer, the SDKs less."""
TRANSPORTS = {"baseline": "stdio", "candidate": "http"}
"""Both arms of a row's experiment are one program: which way each goes."""


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    """`default`: what the client does unasked."""
    revision: str
    """What it must have negotiated in the end."""
    arguments: tuple[str, ...] = ()
    """What its program is told for this mode, after the transport."""


@dataclass(frozen=True, slots=True)
class Client:
    id: str
    """Part of experiment ids and names of folders."""
    title: str
    source: str
    """Folder below `clients/`: what Dockerfile, and what is shared."""
    program: str
    """Its program, in that folder."""
    package: str | None
    """Its name in its registry; None: no package."""
    version: str | None
    why: str
    modes: tuple[Mode, ...]
    also: tuple[str, ...] = ()
    """What is installed beside it, as its registry's client takes it."""
    is_in_every_test_run: bool = False
    """One of each kind runs in `make test`; all do in `make matrix`."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed, as pip or npm takes it."""
        if self.package is None:
            return ()
        pinned = "@" if self.source == "node" else "=="
        return (f"{self.package}{pinned}{self.version}", *self.also)


@dataclass(frozen=True, slots=True)
class Row:
    """One experiment: a client in one of its modes, over both transports."""

    client: Client
    mode: Mode

    @property
    def id(self) -> str:
        return f"{self.client.id}-{self.mode.name}"


def rows(*, every: bool = True) -> Iterator[Row]:
    """All rows, or those that run in `make test`."""
    for client in CLIENTS:
        if every or client.is_in_every_test_run:
            yield from (Row(client, mode) for mode in client.modes)


CLIENTS = (
    Client(
        id="python-sdk-2",
        title="Python SDK 2.x",
        source="python",
        program="python_sdk_2.py",
        package="mcp",
        version="2.3.0",
        why="newest; speaks both eras, and probes unless told otherwise",
        modes=(
            Mode("auto", MODERN, ("auto",)),
            Mode("legacy", LEGACY, ("legacy",)),
            Mode(f"pinned-{MODERN}", MODERN, (MODERN,)),
        ),
        is_in_every_test_run=True,
    ),
    Client(
        id="python-sdk-1",
        title="Python SDK 1.x",
        source="python",
        program="python_sdk_1.py",
        package="mcp",
        version="1.30.0",
        why="newest of the line that most servers and frameworks still use; legacy alone",
        modes=(Mode("default", LEGACY),),
    ),
    Client(
        id="typescript-sdk-2",
        title="TypeScript SDK 2.x",
        source="node",
        program="typescript_sdk_2.mjs",
        package="@modelcontextprotocol/client",
        version="2.4.0",
        why="newest; legacy by default, and its probe over stdio is a second process",
        modes=(Mode("default", LEGACY, ("default",)), Mode("auto", MODERN, ("auto",))),
    ),
    Client(
        id="typescript-sdk-1",
        title="TypeScript SDK 1.x",
        source="node",
        program="typescript_sdk_1.mjs",
        package="@modelcontextprotocol/sdk",
        version="1.32.2",
        why="newest of the line that most agents in Node still use; legacy alone",
        modes=(Mode("default", LEGACY),),
        is_in_every_test_run=True,
    ),
    Client(
        id="fastmcp",
        title="fastmcp",
        source="python",
        program="fastmcp_client.py",
        package="fastmcp",
        version="4.2.3",
        why="newest; takes the `mcpServers` file as it is",
        modes=(Mode("default", MODERN),),
    ),
    Client(
        id="pydantic-ai",
        title="pydantic-ai",
        source="python",
        program="pydantic_ai_agent.py",
        package="pydantic-ai-slim[mcp]",
        version="2.68.0",
        why="newest; a tool's error is a retry that its model is asked for",
        modes=(Mode("default", MODERN),),
        is_in_every_test_run=True,
    ),
    Client(
        id="langchain",
        title="LangChain MCP adapters",
        source="python",
        program="langchain_agent.py",
        package="langchain-mcp-adapters",
        version="0.3.2",
        why="newest; its agents run in LangGraph, and it needs the Python SDK 1.x",
        modes=(Mode("default", LEGACY),),
        also=("langgraph==1.2.24",),
    ),
    Client(
        id="openai-agents",
        title="openai-agents",
        source="python",
        program="openai_agents_agent.py",
        package="openai-agents",
        version="0.24.0",
        why="newest; shows its model the text of an error as it would that of an answer",
        modes=(Mode("default", MODERN),),
    ),
    Client(
        id="inspector",
        title="MCP inspector, CLI mode",
        source="node",
        program="inspector.mjs",
        package="@modelcontextprotocol/inspector",
        version="2.12.0",
        why="newest; one process, and so one connection, for each request",
        modes=(Mode("default", LEGACY, ("legacy",)), Mode("auto", MODERN, ("auto",))),
    ),
    Client(
        id="raw",
        title="frames by hand, in Perl",
        source="raw",
        program="raw.pl",
        package=None,
        version=None,
        why="no package and no library between it and the boundary",
        modes=(Mode("legacy", LEGACY, ("legacy",)), Mode("modern", MODERN, ("modern",))),
        is_in_every_test_run=True,
    ),
)
