"""A scripted model behind the API of OpenAI's chat completions, in place of a real one. Standard library alone.

`python model_server.py` serves it until it is stopped. It plays a plain language model: it looks the stock up,
reserves, confirms whatever came of that, and says that all is well.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = 8765
MODEL = "scripted-1"
ORDER = re.compile(r"Order (\S+): (\d+) of (\S+)\.")


def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The next message of the assistant: a call of the next tool, or text when all were called."""
    order = ORDER.search(" ".join(str(message["content"]) for message in messages if message["role"] == "user"))
    if order is None:
        return {"role": "assistant", "content": "Which order is it?"}
    order_id, quantity, sku = order.groups()
    steps: list[tuple[str, dict[str, Any]]] = [
        ("get_stock", {"sku": sku}),
        ("reserve", {"order_id": order_id, "sku": sku, "quantity": int(quantity)}),
        ("confirm", {"order_id": order_id}),
    ]
    done = sum(message["role"] == "tool" for message in messages)
    if done == len(steps):
        return {"role": "assistant", "content": f"{order_id} is confirmed."}
    name, arguments = steps[done]
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{done}", "type": "function", "function": function}],
    }


def completion(request: dict[str, Any]) -> dict[str, Any]:
    """The body of an answer to `POST /v1/chat/completions`. A token is taken for four characters."""
    message = answer(request["messages"])
    reason = "tool_calls" if "tool_calls" in message else "stop"
    asked, said = (len(json.dumps(part)) // 4 for part in (request["messages"], message))
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "this file"}
        is_known = self.path == "/v1/models"
        self.reply(*(200, {"object": "list", "data": [model]}) if is_known else (404, {"error": {"message": "no"}}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/chat/completions":
            self.reply(404, {"error": {"message": f"{self.path} is not served"}})
            return
        try:
            self.reply(200, completion(json.loads(body)))
        except (ValueError, LookupError, TypeError) as error:
            self.reply(400, {"error": {"message": f"no script for this: {error}", "type": "invalid_request_error"}})

    def reply(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: `arci` has the terminal."""


def model_server(port: int = PORT) -> ThreadingHTTPServer:
    """Bound to loopback, and not serving yet. OSError where the port is taken."""
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    with model_server() as server:
        print(f"{MODEL} at http://127.0.0.1:{PORT}/v1, until Ctrl-C")
        with suppress(KeyboardInterrupt):
            server.serve_forever()
