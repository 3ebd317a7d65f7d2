"""The worker as a process: what an agent sees, and how its failures are told."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest
from conftest import DEADLINE_S

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


def test_the_agents_dict_is_its_claim(bench: Any) -> None:
    recorder, code, _, _ = run(bench, "def run(task, tools, rng):\n    return {'sum': task['a'] + 1}", task={"a": 1})
    assert code == 0
    (result,) = recorder.events("agent_result")
    assert (result["claim"], result["failure"]) == ({"sum": 2}, None)


def test_the_agents_random_numbers_are_those_of_the_trials_seed(bench: Any) -> None:
    import random

    recorder, _, _, _ = run(bench, "def run(task, tools, rng):\n    return {'draw': rng.random()}")
    assert recorder.events("agent_result")[0]["claim"] == {"draw": random.Random("7:agent").random()}


def test_the_agents_world_is_that_of_a_program_in_its_own_directory(bench: Any) -> None:
    bench.write(
        "agent",
        """
        import os, sys
        import arci.agent

        SEEN = {
            "argv": sys.argv,
            "first": os.path.realpath(sys.path[0]),
            "last": os.path.realpath(sys.path[-1]),
            "runtime": os.path.realpath(os.path.dirname(os.path.dirname(arci.__file__))),
            "site": "site" in sys.modules and any("site-packages" in p or "dist-packages" in p for p in sys.path),
            "environ": [v for v in os.environ.values() if "token" in v],
        }

        def run(task, tools, rng):
            return SEEN
        """,
    )
    recorder = bench.ready()
    assert recorder.run_agent()[0] == 0
    recorder.finish()
    seen = recorder.events("agent_result")[0]["claim"]
    assert seen["argv"] == ["agent"]
    assert seen["first"] == str(bench.directory.resolve())
    assert seen["last"] == seen["runtime"]
    assert (seen["site"], seen["environ"]) == (True, [])


def test_pythonpath_of_the_image_still_counts_for_user_code(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = bench.directory / "extra"
    extra.mkdir()
    (extra / "helper.py").write_text("VALUE = 5\n")
    monkeypatch.setenv("PYTHONPATH", str(extra))
    recorder, code, _, _ = run(bench, "import helper\ndef run(task, tools, rng):\n    return {'v': helper.VALUE}")
    assert (code, recorder.events("agent_result")[0]["claim"]) == (0, {"v": 5})


def test_prints_are_the_agents_own(bench: Any) -> None:
    source = """
    import subprocess, sys
    def run(task, tools, rng):
        print('{"jsonrpc": "2.0", "id": 1, "result": {}}')
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        print("err", file=sys.stderr)
        return {}
    """
    recorder, code, out, err = run(bench, source)
    assert (code, out, err) == (0, '{"jsonrpc": "2.0", "id": 1, "result": {}}\nchild\n', "err\n")
    assert recorder.events("protocol") == []


def test_values_are_copies_in_both_directions(bench: Any) -> None:
    source = """
    def run(task, tools, rng):
        sent = {"list": [1]}
        got = tools.call("echo", value=sent)
        got["list"].append(2)
        again = tools.call("echo", value=sent)
        task["order_id"] = "changed"
        return {"sent": sent, "again": again, "got": got}
    """
    recorder, code, _, _ = run(bench, source)
    assert code == 0
    claim = recorder.events("agent_result")[0]["claim"]
    assert claim == {"sent": {"list": [1]}, "again": {"list": [1]}, "got": {"list": [1, 2]}}


@pytest.mark.parametrize("value", ["{}", "[]", "''", "0", "False", "None", "'\\u2028😀'", "{'a': [1.5, None, -0.0]}"])
def test_a_value_goes_and_comes_back_as_it_is(bench: Any, value: str) -> None:
    source = f"""
    def run(task, tools, rng):
        value = {value}
        assert repr(tools.call("echo", value=value)) == repr(value)
        return {{}}
    """
    assert run(bench, source)[1] == 0


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ("tools.call('reserve', order_id='o', sku='w', quantity=99)", "error", "ValueError: only 10 left"),
        ("tools.call('nosuch')", "error", "unknown tool 'nosuch'"),
        ("tools.call('reserve')", "error", "TypeError: "),
        ("tools.call('get_stock', sku='w')", "refused", "forbidden"),
    ],
)
def test_a_failed_call_raises_with_its_kind_and_detail(bench: Any, call: str, kind: str, words: str) -> None:
    source = f"""
    from arci.agent import ToolFault
    def run(task, tools, rng):
        try:
            {call}
        except ToolFault as fault:
            return {{"kind": fault.kind, "detail": fault.detail, "text": str(fault)}}
    """
    recorder, code, _, _ = run(bench, source, contract={"forbidden_tools": ["get_stock"]})
    claim = recorder.events("agent_result")[0]["claim"]
    assert (code, claim["kind"]) == (0, kind)
    assert words in claim["detail"]
    assert claim["text"] == f"{kind}: {claim['detail']}"


@pytest.mark.parametrize(
    "call",
    [
        "tools.call('echo', value={1})",
        "tools.call('echo', value=float('nan'))",
        "tools.call('echo', value='\\ud800')",
        "tools.call('echo', value='x' * (9 << 20))",
        "tools.call('echo', value=__import__('functools').reduce(lambda a, _: [a], range(300), 0))",
        "tools.call(5)",
        "tools.note_model_step(5)",
        "tools.note_model_step('s', x={1})",
    ],
)
def test_what_is_no_json_is_the_agents_type_error_and_costs_no_call(bench: Any, call: str) -> None:
    source = f"""
    def run(task, tools, rng):
        try:
            {call}
        except TypeError as error:
            return {{"text": str(error), "then": tools.call("echo", value=1)}}
    """
    recorder, code, _, _ = run(bench, source)
    assert (code, recorder.events("agent_result")[0]["claim"]["then"]) == (0, 1)
    assert [e["kind"] for e in recorder.events()] == ["tool_start", "tool_finish", "agent_result"]


def test_a_tool_may_have_an_argument_called_name(bench: Any) -> None:
    source = "def run(task, tools, rng):\n    return {'r': tools.call('echo', value={'name': 1, 'self': 2})}"
    assert run(bench, source)[1] == 0


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
