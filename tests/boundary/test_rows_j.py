"""Servers whose lines are not what they should be, as real processes under a real recorder. Row -> test:

N56 line separators within a message -> test_line_separators_stay_within_one_frame_and_the_record (and, of a toolset,
test_line_separators_pass_as_they_are).
N57 other output on stdout -> test_what_is_no_message_is_counted_and_the_answer_delivered (and, glued to an answer,
test_an_answer_glued_to_other_output_is_the_environments_error_with_the_line_quoted).
N58 byte order marks -> test_a_byte_order_mark_is_noted_at_the_start_and_in_the_middle.
N59 lines of 64 KiB and more -> test_large_answers_pass_through_real_pipes (and
test_an_answer_of_any_size_up_to_the_limit_passes_and_so_does_the_next).
N60 a line without end -> test_a_gibibyte_without_a_newline_costs_the_call_and_the_server_and_little_memory (and, in
containers, test_the_container_stays_small_and_others_are_answered).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from small_host import Recorder
from small_server import SERVER as SMALL
from told_server import ANSWER, SERVER, answer, begun, client, defined, say, told

SEPARATORS = "a\u2028b\u2029c\u0085d"


def test_every_test_that_the_rows_name_is_there() -> None:
    named, missing = defined(__doc__)
    assert (len(named), missing) == (9, set())


def protocol(recorder: Recorder) -> list[str]:
    return [event["detail"] for event in recorder.events("protocol")]


def test_line_separators_stay_within_one_frame_and_the_record(bench: Any) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    result = f'{{"content":[{{"type":"text","text":"{SEPARATORS}"}}]}}'
    say(agent, answer(result), id="x")
    assert agent.line() == f'{{"jsonrpc":"2.0","id":"x","result":{result}}}\n'.encode()
    recorder.finish()
    assert [e["value"] for e in recorder.events("tool_finish")] == [SEPARATORS]
    assert protocol(recorder) == []


def test_what_is_no_message_is_counted_and_the_answer_delivered(bench: Any) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    noise = ("Server v1.0 listening\n", "\n", "\x1b[31mwarning\x1b[0m\n", '{"jsonrpc":"2.0","id":<id>,\n', '"text"\n')
    say(agent, *noise, ANSWER)
    assert agent.frame()["result"]["structuredContent"] == {"n": 1}
    recorder.finish()
    assert len(protocol(recorder)) == 4  # a blank line is none
    assert [e["noise"] for e in recorder.events("environment_end")] == [4]
    assert [e["ok"] for e in recorder.events("tool_finish")] == [True]


def test_a_byte_order_mark_is_noted_at_the_start_and_in_the_middle(bench: Any) -> None:
    source = SERVER.replace("for line in sys.stdin:", 'out.write(b"\\xef\\xbb\\xbf")\nfor line in sys.stdin:')
    recorder = begun(bench, bench.script("told", source, "legacy"))
    agent = client(recorder)
    say(agent, "\ufeff" + ANSWER)
    assert agent.frame()["result"]["structuredContent"] == {"n": 1}
    recorder.finish()
    assert len(protocol(recorder)) == 2
    assert all("byte order mark" in detail for detail in protocol(recorder))


def test_a_gibibyte_without_a_newline_costs_the_call_and_the_server_and_little_memory(bench: Any) -> None:
    recorder = begun(bench, bench.script("small", SMALL), told(bench))
    flooded, other = client(recorder, "small"), client(recorder)
    flooded.ask(1, "tools/call", name="flood", arguments={})
    for _ in range(20):
        say(other, ANSWER)
        assert other.frame()["result"]["structuredContent"] == {"n": 1}
    assert flooded.frame()["result"]["isError"] is True
    assert "wrote a line that did not end; it was killed" in recorder.until("trouble")["detail"]
    assert end_of_a_server(recorder)["steps"] == ["KILL"]
    say(other, ANSWER)
    assert other.frame()["result"]["structuredContent"] == {"n": 1}
    status = Path(f"/proc/{recorder.process.pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < 100 * 1024


def end_of_a_server(recorder: Recorder) -> dict[str, Any]:
    """The event that tells of the first one, once it has come."""
    while not (found := recorder.events("environment_end")):
        recorder.next()
    return found[0]
