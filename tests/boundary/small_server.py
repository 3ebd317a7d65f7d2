"""A small MCP server over stdio as the source of a program: legacy, one tool for each thing that a test needs."""

from __future__ import annotations

__all__ = ["SERVER"]

SERVER = """
import json, os, signal, sys, time

out, MIB = sys.stdout.buffer, 1 << 20


def say(**frame):
    out.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\\n")
    out.flush()


def look():
    return {
        "cwd": os.getcwd(), "env": dict(os.environ), "ids": [*os.getresuid(), *os.getresgid(), *os.getgroups()],
        "fds": sorted(int(n) for n in os.listdir("/proc/self/fd")), "leads": os.getsid(0) == os.getpid(),
        "task": json.load(open(os.environ["ARCI_TASK_FILE"])), "pid": os.getpid(),
    }


def call(name, id, arguments, token):
    if name == "look":
        return look()
    if name == "die":
        sys.stderr.write("about to die\\n")
        sys.stderr.flush()
        os.kill(os.getpid(), 9)
    if name == "flood":
        for _ in range(1024):
            out.write(b"x" * MIB)
            out.flush()
    if name == "progress":
        for n in range(1000):
            say(method="notifications/progress", params={"progressToken": token, "progress": n})
        return {"big": "y" * (5 * MIB)}
    if name == "big":
        return {"big": "z" * arguments["bytes"]}
    if name == "hold":
        holder = os.fork()
        if holder == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            held = os.open(arguments["fifo"], os.O_WRONLY)
            for fd in (0, 1, 2):
                os.close(fd)
            os.write(held, b"held")
            signal.pause()
        return {"holder": holder}
    if name == "write":
        open(arguments["path"], "w").write(arguments["text"])
        return {"ok": True}
    return {"echo": arguments}


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    for line in sys.stdin:
        frame = json.loads(line)
        id, method, params = frame.get("id"), frame.get("method"), frame.get("params", {})
        if method == "initialize":
            info = {"name": "small", "version": "1"}
            say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            names = ("look", "die", "flood", "progress", "big", "hold", "write", "echo")
            say(id=id, result={"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]})
        elif method == "tools/call":
            value = call(params["name"], id, params.get("arguments", {}), params.get("_meta", {}).get("progressToken"))
            say(id=id, result={"content": [], "structuredContent": value, "isError": False})
        elif id is not None and mode == "strict":
            sys.exit("expected initialize")
        elif id is not None:
            say(id=id, error={"code": -32601, "message": "not known"})
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.stderr.write("still here\\n")
        sys.stderr.flush()
        while True:
            signal.pause()


main()
"""
