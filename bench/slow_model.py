"""A model that takes its time, as a program of its own: `slow_model.py LATENCY_S` prints its port and serves chat
completions until end of stdin. Standard library alone; any number of calls wait at once."""

from __future__ import annotations

import asyncio
import json
import sys

BODY = json.dumps(
    {
        "id": "chatcmpl-slow",
        "object": "chat.completion",
        "created": 0,
        "model": "slow-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
    }
).encode()
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency_s: float) -> None:
    """One connection, call after call."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
            await reader.readexactly(int(fields.get(b"content-length", b"0")))
            await asyncio.sleep(latency_s)
            writer.write(HEAD + BODY)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main(latency_s: float) -> None:
    server = await asyncio.start_server(lambda r, w: serve(r, w, latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
