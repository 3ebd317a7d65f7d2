"""The environment behind a real recorder: its prints, its log, its values, its death."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from small_host import result_of

from arci.wire.framing import MAX_LINE_BYTES


def test_the_tools_are_described_from_signatures_and_hints(bench: Any) -> None:
    ready = bench.recorder()
    ready.begin()
    tools = {tool["name"]: tool for tool in ready.until("ready")["tools"]}
    assert tools["get_stock"] == {
        "name": "get_stock",
        "description": "How many are left.",
        "inputSchema": {
            "type": "object",
            "properties": {"sku": {"type": "string"}},
            "required": ["sku"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    }
    assert "outputSchema" not in tools["echo"]


def test_the_socket_can_be_reached_from_another_uid(bench: Any) -> None:
    recorder = bench.ready()
    assert stat.S_IMODE(Path(recorder.address.partition(":")[2]).stat().st_mode) == 0o666


def test_it_listens_on_a_port_too(bench: Any) -> None:
    recorder = bench.recorder()
    recorder.begin(listen=["tcp:127.0.0.1:0"])
    (recorder.address,) = recorder.until("ready")["listening"]
    assert recorder.run_agent()[0] == 0
    assert recorder.finish()["confirmed"] == ["order-7"]


def test_prints_of_the_environment_disturb_no_frame(bench: Any) -> None:
    bench.write(
        "world",
        """
        import os, subprocess, sys
        print('{"type": "end", "count": 0}')

        class World:
            def __init__(self, task, seed):
                self.tools = {"shout": self.shout}

            def shout(self):
                print("printed")
                os.write(1, b"written\\n")
                subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
                return sys.stdin.read()

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    assert result_of(recorder.connect().call("shout")) == ""
    recorder.finish()
    assert recorder.close() == 0
    for words in ("printed", "written", "from a child", '{"type": "end"'):
        assert words in recorder.log()


def test_a_megabyte_of_log_per_call_is_drained_and_capped(bench: Any) -> None:
    bench.write(
        "world",
        """
        import sys

        class World:
            def __init__(self, task, seed):
                self.tools = {"noisy": self.noisy}

            def noisy(self):
                sys.stderr.write("x" * (1 << 20) + "the end")
                return "answered"

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    client = recorder.connect()
    assert [result_of(client.call("noisy")) for _ in range(5)] == ["answered"] * 5
    recorder.close()
    assert 200_000 < len(recorder.log()) < 300_000
    assert "the rest of the environment's log is not passed on" in recorder.log()


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**16 + 1, MAX_LINE_BYTES])
def test_answers_of_any_size_pass_whole_and_the_next_call_works(bench: Any, size: int) -> None:
    bench.write(
        "world",
        """
        class World:
            def __init__(self, task, seed):
                self.tools = {"make": lambda size: "x" * size}

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    client = recorder.connect()
    assert result_of(client.call("make", size=size)) == "x" * size
    assert result_of(client.call("make", size=3)) == "xxx"
    assert recorder.until("event")["event"]["kind"] == "tool_start"


def test_an_answer_over_the_limit_is_the_tools_error_and_the_next_call_works(bench: Any) -> None:
    bench.write(
        "world",
        """
        class World:
            def __init__(self, task, seed):
                self.tools = {"make": lambda size: "x" * size}

            def snapshot(self):
                return {}

        make = World
        """,
    )
    client = bench.ready().connect()
    answer = client.call("make", size=MAX_LINE_BYTES + 10_000)
    assert answer["isError"]
    assert "tool 'make' returned what is not JSON" in answer["content"][0]["text"]
    assert result_of(client.call("make", size=1)) == "x"


def test_line_separators_pass_as_they_are(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    text = "a\u2028b\u2029c\u0085d\x0be😀"
    line = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"value": text}}},
        ensure_ascii=False,
    ).encode()
    client.send(b"\xef\xbb\xbf" + line + b"\r\n")
    answer = client.line()
    assert "\u2028b\u2029c\u0085d".encode() in answer
    assert result_of(json.loads(answer)["result"]) == text
    assert recorder.until("event")["event"]["arguments"] == {"value": text}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("{1, 2}", "tool 'odd' returned what is not JSON: Object of type set"),
        ("float('nan')", "tool 'odd' returned what is not JSON"),
        ("[float('inf')]", "tool 'odd' returned what is not JSON"),
        ("'\\ud800'", "tool 'odd' returned what is not JSON"),
        ("object()", "tool 'odd' returned what is not JSON: Object of type object"),
        ("__import__('functools').reduce(lambda a, _: [a], range(500), 0)", "nested deeper than 128"),
        ("[].index(1)", "ValueError: 1 is not in list"),
        ("(_ for _ in ()).throw(KeyError('\\ud800'))", "KeyError: "),
    ],
)
def test_what_a_tool_must_not_return_is_its_error_and_no_trouble(bench: Any, expression: str, words: str) -> None:
    bench.write(
        "world",
        f"""
        class World:
            def __init__(self, task, seed):
                self.tools = {{"odd": lambda: {expression}}}

            def snapshot(self):
                return {{}}

        make = World
        """,
    )
    recorder = bench.ready()
    answer = recorder.connect().call("odd")
    assert answer["isError"]
    assert words in answer["content"][0]["text"]
    assert [f for f in recorder.frames if f["type"] == "trouble"] == []


# The environment's death


DYING = """
import os, signal, sys, time


class World:
    def __init__(self, task, seed):
        self.tools = {"die": self.die, "leave": self.leave, "hide": self.hide}

    def die(self):
        sys.stderr.write("last words")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def leave(self):
        sys.exit(3)

    def hide(self):
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(4)

    def snapshot(self):
        return {}


make = World
"""


@pytest.mark.parametrize(
    ("tool", "how"), [("die", "killed by signal 9"), ("leave", "exit status 3"), ("hide", "exit status 4")]
)
def test_an_environment_that_dies_fails_the_call_and_is_reported(bench: Any, tool: str, how: str) -> None:
    bench.write("world", DYING)
    recorder = bench.ready()
    answer = recorder.connect().call(tool)
    assert (answer["isError"], answer["content"][0]["text"]) == (True, "the environment is gone")
    trouble = recorder.until("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "trial")
    assert how in trouble["detail"]
    assert trouble["stderr"] == ("last words" if tool == "die" else "")
    recorder.finish()


@pytest.mark.parametrize(
    ("source", "words", "log"),
    [
        ("import nosuchmodule", "nosuchmodule", "Traceback"),
        ("x = 1", "has no attribute 'make'", "AttributeError: "),
        ("make = 5", "int is not callable", "TypeError: "),
        ("def make(task, seed):\n    raise KeyError('order_id')", "KeyError: 'order_id'", "Traceback"),
        ("def make(task, seed):\n    return 5", "has no attribute 'tools'", "Traceback"),
        (
            "class make:\n    tools = {'a': 1}\n    snapshot = print\n    __init__ = lambda *a: None",
            ".tools must be",
            "",
        ),
        ("class make:\n    tools = {}\n    snapshot = 1\n    __init__ = lambda *a: None", ".snapshot must be", ""),
        ("import sys\nprint('bye')\nsys.exit(9)", "exit status 9", "bye"),
    ],
)
def test_an_environment_that_cannot_start_is_named_with_its_log(bench: Any, source: str, words: str, log: str) -> None:
    bench.write("world", source)
    recorder = bench.recorder()
    recorder.begin()
    trouble = recorder.until("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "setup")
    assert words in trouble["detail"]
    assert log in trouble["stderr"]


def test_a_missing_reference_is_named(bench: Any) -> None:
    recorder = bench.recorder(toolset="world")
    recorder.begin()
    assert "module:function is allowed" in recorder.until("trouble")["detail"]
