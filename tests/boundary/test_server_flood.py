"""A server that writes without end: the recorder stays small and goes on answering others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_server import SERVER

MOST_BYTES = 256 * 1024 * 1024


def peak_bytes(pid: int) -> int:
    """The largest that a process has been."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


@pytest.mark.timeout(600)  # up to a GiB, as fast as the machine takes it
@pytest.mark.parametrize(
    ("write", "mib", "ends"),
    [
        ('out.write(b"x" * MIB)', 1024, "did not end"),
        ('out.write(b"[" * MIB)', 1024, "did not end"),
        ('out.write(b\'{"jsonrpc":"2.0","id":%d,"result":[\' % id + b\'[\' * MIB)', 1024, "did not end"),
        ('out.write(b"x\\n" * (MIB // 2))', 1024, "lines that are no messages"),
        ('out.write(b"noise " * (MIB // 6) + b"\\n")', 100, None),
        ('out.write(b"\\n" * MIB)', 100, None),
        ('out.write(b"\\r\\n" * (MIB // 2))', 100, None),
    ],
    ids=["no newline", "brackets", "an answer without end", "short lines", "noise", "blank lines", "line ends"],
)
def test_a_flood_of_a_server_costs_the_recorder_little_and_the_others_nothing(
    bench: Any, write: str, mib: int, ends: str | None
) -> None:
    flooding = SERVER.replace('out.write(b"x" * MIB)', write).replace("range(1024)", f"range({mib})")
    servers = [bench.script("loud", flooding), bench.script("quiet", SERVER)]
    recorder = bench.ready(servers=servers, budgets={"tool_seconds": 60})
    loud = recorder.connect(b"ARCI mcp agent-token loud\n")
    quiet = recorder.connect(b"ARCI mcp agent-token quiet\n")
    loud.ask(1, "tools/call", name="flood", arguments={})
    assert quiet.call("echo", n=1)["structuredContent"] == {"echo": {"n": 1}}
    answer = loud.frame()["result"]
    assert answer["isError"] is (ends is not None)
    if ends is not None:
        assert f"{ends}; it was killed" in recorder.until("trouble", server="loud")["detail"]
    assert peak_bytes(recorder.process.pid) < MOST_BYTES
    assert recorder.close() == 0
