"""A whole trial with real guests: recorder, environment and worker over a Unix socket."""

from __future__ import annotations

from typing import Any

TIMEOUT = {"name": "tool_timeout", "tool": "reserve", "occurrence": {"kind": "nth", "n": 0}, "params": {}}


def test_a_trial_is_recorded_from_ready_to_end(bench: Any) -> None:
    recorder = bench.ready(faults=[TIMEOUT])
    code, out, err = recorder.run_agent()
    assert (code, out, err) == (0, "reserve failed: timeout\n", "")
    state = recorder.finish()
    assert state == {"stock": 8, "reservations": {"order-7": 2}, "confirmed": ["order-7"]}
    kinds = [e["kind"] for e in recorder.events()]
    assert kinds == [
        *("model_step", "tool_start", "injection", "tool_finish"),
        *("tool_start", "tool_finish", "tool_start", "tool_finish", "agent_result"),
    ]
    assert recorder.close() == 0
