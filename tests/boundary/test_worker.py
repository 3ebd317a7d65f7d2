"""The worker as a process: what an agent sees and what it may send."""

from __future__ import annotations

from typing import Any

import pytest


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
