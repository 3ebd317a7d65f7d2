"""Makes the calls that its arguments name, each one as JSON: `[tool, arguments]`, or `[server, tool, arguments]`."""

from __future__ import annotations

import json
import sys

from raw_client import SERVERS, Client, leave

clients = {server: Client(server) for server in SERVERS}
answers = []
for text in sys.argv[1:]:
    *named, tool, arguments = json.loads(text)
    server = named[0] if named else next(iter(SERVERS))
    answers.append(clients[server].call(tool, arguments))
leave({"tools": {server: client.tools() for server, client in clients.items()}, "answers": answers})
