"""The agent: pydantic-ai with the helpdesk's tools over MCP. What a failed tool means to it is its only argument."""

from __future__ import annotations

import json
import os
import sys
from typing import Literal, cast

from model import scripted
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

behaviour = cast(Literal["retry", "failed"], sys.argv[1])
tools = MCPToolset(os.environ["ARCI_MCP_URL"], tool_error_behavior=behaviour)
agent = Agent(scripted, toolsets=[tools], retries=2, instructions="Open a ticket for the complaint.")

print(agent.run_sync(json.loads(os.environ["ARCI_TASK"])["complaint"]).output)
