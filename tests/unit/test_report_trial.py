"""One record and its logs for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import make_run

from arci.report.escape import columns
from arci.report.trial import render_log, render_trial
from arci.report.usage import usage_words
from arci.store.logs import LogTail
from arci.store.reader import read_events, read_record

Shown = tuple[dict[str, Any], list[dict[str, Any]]]
TRIAL = "reserve-timeout:00001:candidate"


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    store = make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "PF"})
    return read_record(store, TRIAL), read_events(store, TRIAL)


def test_a_record_is_told_with_its_trace(shown: Shown) -> None:
    text = render_trial(*shown)
    assert text.startswith(f"FAIL  {TRIAL}  (completed, blame: agent)\nthe oracle refuses the final state\n")
    for told in (
        "seed            12001\n",
        "oracle          false\n",
        'claim           {"done": true} (kept, never counted)\n',
        "fingerprint     oracle|reserve timeout tool_timeout\n",
        "log             agent: stderr 0 bytes, stdout 11 bytes\n",
        '             tool_start    reserve[0] arguments={"n": 12001}\n',
        '    0.250 s  trial_end     ending="completed"\n',
    ):
        assert told in text
    assert max(map(columns, text.splitlines())) <= 100


def test_hostile_values_in_a_record_stay_text_within_the_width(shown: Shown) -> None:
    record, events = shown
    nasty = "\x1b[2J\r\n漢\u202e\ud800" + "w" * 300
    record = {key: nasty if isinstance(value, str) else value for key, value in record.items()}
    record["agent"] = {**record["agent"], "claim": {nasty: nasty}, "failure": {"kind": nasty, "message": nasty}}
    record["contract"] = {"success": None, "violations": [nasty, {nasty: 1}], "required_missing": [nasty]}
    record["final_state"] = {nasty: [nasty]}
    events = [{**event, "tool": nasty, "kind": nasty, "value": nasty} for event in events]
    text = render_trial(record, events, width=100)
    assert all(c == "\n" or c == " " or c.isprintable() for c in text)
    assert max(map(columns, text.splitlines())) <= 100


@pytest.mark.parametrize(("width", "longest"), [(None, 523), (120, 120), (3, 40)])
def test_lines_of_a_trace_are_cut_where_a_width_is_given_and_whole_else(width: int | None, longest: int) -> None:
    event = {"kind": "tool_start", "tool": "t", "occurrence": 0, "arguments": "w" * 479}
    *_, line = render_trial({}, [event], width=width).splitlines()
    assert columns(line) == longest
    assert line.endswith("..." if width else 'w"')


def test_only_what_was_used_is_told_in_words(shown: Shown) -> None:
    used = {
        "tool_calls": 1,
        "model_calls": 2,
        "relays": 0,
        "cost_usd": 0.0125,
        "input_tokens": 1,
        "agent_seconds": 1.5,
        "paced_seconds": 0.0,
        "peak_memory_bytes": 3 << 20,
        "odd": {"x": 1},
    }
    told = "1 tool call, 2 model calls, 1 input token, 1.50 s in the agent, USD 0.012500"
    assert usage_words(used) == f'{told}, odd {{"x": 1}}, 3.0 MiB of memory at most'
    assert "usage           nothing\n" in render_trial({**shown[0], "usage": {"tool_calls": 0, "cost_usd": None}})


def test_phases_are_told_in_the_order_of_a_trial(shown: Shown) -> None:
    phases = {"agent": 1.0, "a": 1.0, "create": 1.0, "grade": 1.0, "seal": 1.0, "start": 1.0}
    (line,) = [line for line in render_trial({**shown[0], "phases": phases}).splitlines() if line.startswith("time ")]
    assert [part.split()[0] for part in line.removeprefix("time ").split(", ")] == [
        *("create", "start", "agent", "seal", "grade", "a")
    ]


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [7], {"a": 7}])
def test_a_record_of_any_shape_is_shown(shown: Shown, value: object) -> None:
    for key in shown[0]:
        assert render_trial({**shown[0], key: value}, [{"kind": value, "at_s": value, "tool": value}])
    assert render_trial({})


def test_a_whole_log_is_shown_with_its_line_ends_and_tabs_alone() -> None:
    data = b"one\r\ntwo\tthree\n\x1b[31mred\xff\n"
    log = LogTail(data, b"", len(data))
    assert render_log(log) == "one\ntwo\tthree\n\\x1b[31mred\\xff\n"


def test_a_cut_log_says_how_much_is_missing() -> None:
    assert render_log(LogTail(b"head", b"tail", 1008)) == "head\n[... 1000 of 1008 bytes were not kept ...]\ntail"
