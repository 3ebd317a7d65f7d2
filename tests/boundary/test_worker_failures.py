"""How a worker tells of an agent that failed, ran out of a budget, or lost its boundary."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest
from small_host import DEADLINE_S

from arci.guest import link, worker


def failure_of(recorder: Any) -> dict[str, Any]:
    """The failure that was recorded; the recorder must have ended."""
    (result,) = recorder.events("agent_result")
    failure: dict[str, Any] = result["failure"]
    return failure


def run(bench: Any, source: str, **begin: Any) -> tuple[Any, int, str, str]:
    """A whole trial of the agent `source`: recorder, exit code, stdout, stderr."""
    bench.write("agent", source)
    recorder = bench.ready(**begin)
    code, out, err = recorder.run_agent()
    recorder.finish()
    return recorder, code, out, err


# Failures


def test_an_exception_is_told_then_shown_and_ends_with_1(bench: Any) -> None:
    recorder, code, _, err = run(bench, "def run(task, tools, rng):\n    raise KeyError('order')")
    assert code == 1
    assert failure_of(recorder) == {"kind": "KeyError", "message": "'order'"}
    assert err.startswith("Traceback (most recent call last):\n")
    assert "agent.py" in err
    assert "worker.py" not in err
    assert err.endswith("KeyError: 'order'\n")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import nosuchmodule", "ModuleNotFoundError"),
        ("def run(:", "SyntaxError"),
        ("x = 1", "AttributeError"),
        ("run = 5", "TypeError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import arci.agent\nraise arci.agent.BudgetExceeded('odd')", "BudgetExceeded"),
    ],
)
def test_a_module_that_cannot_be_imported_fails_before_the_clock_starts(bench: Any, source: str, kind: str) -> None:
    recorder, code, _, _ = run(bench, source)
    assert (code, failure_of(recorder)["kind"]) == (1, kind)
    assert not any(f.get("status") == "worker_ready" for f in recorder.frames)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("None", "the agent returned NoneType; a dict is required"),
        ("[1]", "the agent returned list"),
        ("{'a': {1}}", "not JSON"),
        ("{'a': float('nan')}", "not JSON"),
        ("{'a': '\\ud800'}", "not JSON"),
        ("{'a': 'x' * (9 << 20)}", "not JSON"),
    ],
)
def test_a_result_that_is_no_json_dict_is_a_failure(bench: Any, value: str, words: str) -> None:
    recorder, code, _, err = run(bench, f"def run(task, tools, rng):\n    return {value}")
    assert (code, failure_of(recorder)["kind"]) == (1, "TypeError")
    assert words in failure_of(recorder)["message"]
    assert words in err


@pytest.mark.parametrize(
    ("how", "code", "failed"), [("3", 3, True), ("'text'", 1, True), ("0", 0, False), ("", 0, False)]
)
def test_sys_exit_keeps_its_code(bench: Any, how: str, code: int, failed: bool) -> None:
    recorder, found, _, err = run(bench, f"import sys\ndef run(task, tools, rng):\n    sys.exit({how})")
    assert found == code
    assert bool(recorder.events("agent_result")) is failed
    assert err == ("text\n" if how == "'text'" else "")


def test_an_exception_without_a_text_is_told_too(bench: Any) -> None:
    source = """
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
    def run(task, tools, rng):
        raise Odd
    """
    recorder, code, _, _ = run(bench, source)
    assert (code, failure_of(recorder)) == (1, {"kind": "Odd", "message": "(no text: its __str__ raised)"})


@pytest.mark.parametrize("text", ["'\\ud800'", "'x' * (9 << 20)"])
def test_an_exception_whose_text_cannot_be_sent_is_told_all_the_same(bench: Any, text: str) -> None:
    recorder, code, _, _ = run(bench, f"def run(task, tools, rng):\n    raise ValueError({text})")
    assert (code, failure_of(recorder)["kind"]) == (1, "ValueError")


# Budgets


SWALLOWING = """
def run(task, tools, rng):
    for _ in range(20):
        try:
            tools.{call}
        except Exception:
            pass
    return {{"success": True}}
"""


@pytest.mark.parametrize(
    ("call", "budget"), [("call('echo', value=1)", "max_tool_calls"), ("note_model_step('s')", "max_model_steps")]
)
def test_a_swallowed_budget_does_not_become_a_success(bench: Any, call: str, budget: str) -> None:
    recorder, code, _, _ = run(bench, SWALLOWING.format(call=call), budgets={budget: 3})
    assert recorder.events("agent_result")[0]["claim"] is None
    assert (code, failure_of(recorder)["kind"]) == (1, "BudgetExceeded")
    assert f"budget {budget} of 3 is used up" in failure_of(recorder)["message"]
    assert [f["budget"] for f in recorder.frames if f["type"] == "latched"] == [budget]
    assert len(recorder.events("tool_start", "model_step")) == (4 if budget == "max_tool_calls" else 3)


def test_budget_exceeded_is_no_tool_fault(bench: Any) -> None:
    source = """
    from arci.agent import ToolFault
    def run(task, tools, rng):
        while True:
            try:
                tools.call("echo", value=1)
            except ToolFault:
                pass
    """
    recorder, code, _, err = run(bench, source, budgets={"max_tool_calls": 2})
    assert (code, failure_of(recorder)["kind"]) == (1, "BudgetExceeded")
    assert "arci.agent.BudgetExceeded: budget max_tool_calls of 2 is used up" in err


# Threads and the connection


def test_twenty_threads_call_at_once_and_each_gets_its_own_answer(bench: Any) -> None:
    source = """
    from concurrent.futures import ThreadPoolExecutor
    def run(task, tools, rng):
        with ThreadPoolExecutor(20) as pool:
            found = list(pool.map(lambda n: tools.call("echo", value={"n": n}), range(200)))
        return {"right": [f["n"] for f in found] == list(range(200))}
    """
    recorder, code, _, _ = run(bench, source, budgets={"max_tool_calls": 200})
    assert (code, recorder.events("agent_result")[0]["claim"]) == (0, {"right": True})
    starts, finishes = recorder.events("tool_start"), recorder.events("tool_finish")
    assert [e["occurrence"] for e in starts] == list(range(200))
    values = {e["call_id"]: e["arguments"]["value"] for e in starts}
    assert all(e["value"] == values[e["call_id"]] for e in finishes)


@pytest.mark.parametrize("doing", ["tools.call('hang')", "time.sleep(1000)", "exec('while True: pass')"])
def test_a_lost_connection_ends_the_worker_whatever_it_does(bench: Any, doing: str) -> None:
    bench.write(
        "world",
        """
        import time
        class World:
            def __init__(self, task, seed):
                self.tools = {"hang": lambda: time.sleep(1000), "tell": lambda: None}
            def snapshot(self):
                return {}
        make = World
        """,
    )
    bench.write(
        "agent", f"import time\ndef run(task, tools, rng):\n    tools.call('tell')\n    {doing}\n    return {{}}"
    )
    recorder = bench.ready()
    process = recorder.worker()
    while recorder.until("event")["event"]["kind"] != "tool_finish":
        pass
    recorder.close()
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err) == (70, b"", b"arci: the connection to the boundary is gone\n")


def test_a_loss_that_a_call_and_the_reader_notice_at_once_is_told_once(bench: Any) -> None:
    """The agent is stopped while its boundary goes, and goes on with a call."""
    bench.write(
        "agent",
        """
        import os, signal
        def run(task, tools, rng):
            tools.call("echo", value=1)
            os.kill(os.getpid(), signal.SIGSTOP)
            while True:
                tools.call("echo", value=2)
        """,
    )
    recorder = bench.ready()
    process = recorder.worker()
    while recorder.until("event")["event"]["kind"] != "tool_finish":
        pass
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    recorder.close()
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err) == (70, b"", b"arci: the connection to the boundary is gone\n")


def test_a_boundary_that_is_not_there_is_no_failure_of_the_agent(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(link, "DIAL_S", 0.0)
    monkeypatch.setattr(sys, "argv", [])
    where = f"unix:{bench.directory}/nosuch"
    code = worker.main(["--ref", "agent:run", "--root", str(bench.directory), "--token", "t", "--dial", where])
    assert code == 70
    assert capfd.readouterr().err.startswith(f"arci: the boundary cannot be reached at {where}: ")


def test_an_environment_that_did_not_start_is_no_failure_of_the_agent(bench: Any) -> None:
    bench.write("world", "import nosuchmodule")
    recorder = bench.recorder()
    recorder.begin()
    recorder.until("trouble")
    code, _, err = recorder.run_agent()
    assert (code, err) == (70, "arci: the environment did not start\n")
    assert recorder.events("agent_result") == []


def test_a_forked_child_cannot_use_the_tools_and_is_told_so(bench: Any) -> None:
    source = """
    import os
    def run(task, tools, rng):
        pid = os.fork()
        if pid == 0:
            try:
                tools.call("echo", value=1)
            except RuntimeError as error:
                os._exit(3 if "forked process" in str(error) else 4)
            os._exit(5)
        return {"child": os.WEXITSTATUS(os.waitpid(pid, 0)[1]), "parent": tools.call("echo", value=1)}
    """
    recorder, code, _, _ = run(bench, source)
    assert (code, recorder.events("agent_result")[0]["claim"]) == (0, {"child": 3, "parent": 1})


def test_what_an_agent_leaves_running_does_not_hold_back_its_result(bench: Any) -> None:
    source = """
    import subprocess
    def run(task, tools, rng):
        subprocess.Popen(["sleep", "1000"])
        return {"done": True}
    """
    bench.write("agent", source)
    recorder = bench.ready()
    process = recorder.worker(start_new_session=True)
    event = recorder.until("event")["event"]
    assert (event["kind"], event["claim"]) == ("agent_result", {"done": True})
    assert process.wait(DEADLINE_S) == 0
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    recorder.finish()
