"""The descriptor's programs as pydantic models: MCP servers with their snapshots, agents that are commands. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, Tag

from arci.manifest.fields import Argument, EnvName, ImageName, Name, Reference, ServerName, Text
from arci.manifest.forms import EITHER, LONG, SHORT, STRICT

__all__ = ["DEFAULT_SERVER", "MOST_SERVERS", "CommandShape", "ServerShape", "SnapshotShape"]

DEFAULT_SERVER = "server"
"""Name of an `mcp_server` that is given none."""
MOST_SERVERS = 32


class _Strict(BaseModel):
    model_config = STRICT


class CommandShape(_Strict):
    """A program that speaks MCP."""

    argv: list[Argument] | None = None
    """Runs exactly this; the image's ENTRYPOINT and CMD when left out."""
    env: dict[EnvName, str] = {}
    """`${NAME}`, alone, takes the declared secret NAME."""
    infra_exit_codes: list[Annotated[int, Field(ge=1, le=255)]] = [75]
    """Exit codes that mean trouble of the machine's, so that the trial is ERROR."""


class SnapshotShape(_Strict):
    """How a server's final state is taken: exactly one of tool, resource and files."""

    tool: Name | None = None
    """A tool of the server that is hidden from the agent."""
    arguments: dict[str, Any] = {}
    """Of the tool."""
    resource: Text | None = None
    """URI of a resource that is hidden from the agent."""
    files: list[Text] | None = None
    """Paths or globs below the server's working directory, read after it has ended."""


class ServerShape(_Strict):
    """One MCP server over stdio."""

    name: ServerName | None = None
    """Of an `mcp_server`; the servers of `mcp_servers` are named by their keys."""
    argv: list[Argument] | None = None
    """Without an image: started beside the recorder, under a user of its own."""
    env: dict[EnvName, str] = {}
    image: ImageName | None = None
    """A container of its own; without argv it runs its ENTRYPOINT and CMD."""
    snapshot: Annotated[Annotated[Reference, Tag(SHORT)] | Annotated[SnapshotShape, Tag(LONG)], EITHER] | None = None
    """`module:function`, `(task, workdir) -> JSON object`, or the long form; the empty state when left out."""
    crash: Literal["error", "fail"] = "error"
    """What its death during a call of the agent counts as."""
