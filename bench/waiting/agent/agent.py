"""Asks its model three times, by hand: what is measured is the waiting."""

from __future__ import annotations

import http.client
import json
import os
import urllib.parse
from typing import Any

CALLS = 3


def run(task: dict[str, Any], tools: Any, rng: Any) -> dict[str, Any]:
    base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(base.netloc)
    for number in range(CALLS):
        body = {"model": "slow-1", "messages": [{"role": "user", "content": f"call {number}"}]}
        connection.request("POST", base.path + "/chat/completions", json.dumps(body), headers)
        with connection.getresponse() as answer:
            answer.read()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}")
    tools.call("done")
    return {}
