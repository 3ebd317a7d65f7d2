"""Packages that call models, in pods without a network: every session, and one package under every fault, against what
the reference page says of it. `make models` does all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_pages import page, tables
from models.experiment import Trial, run_faults, run_session
from models.page import behaviour, text
from models.provider import ANSWER, CALL, Provider, provider
from models.table import CLIENTS, FAULTS, MODES, Client

pytestmark = pytest.mark.timeout(1800)  # the first run on an engine builds the images

FAULTED = CLIENTS[0]


@pytest.fixture(scope="module")
def served() -> Iterator[Provider]:
    with provider() as found:
        yield found


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_a_package_gets_along_with_whole_and_with_streamed_answers(
    client: Client, served: Provider, tmp_path: Path
) -> None:
    before = served.calls()
    trials = run_session(client, served, tmp_path / client.id)
    assert [(trial.mode, trial.outcome) for trial in trials] == [(mode, "PASS") for mode in MODES.values()], text(
        trials, []
    )
    assert [trial.seen["mode"] for trial in trials] == list(MODES.values())
    for trial in trials:
        assert_recorded(trial)
    assert served.calls() - before == sum(trial.calls for trial in trials)


def assert_recorded(trial: Trial) -> None:
    """The recording tells the same as the program: what was asked and answered, with usage and how it came."""
    finished = [event for event in trial.events if event["kind"] == "model_finish"]
    assert [event["ok"] for event in finished] == [True] * trial.calls
    told = [step for step in trial.seen["steps"].values() if "text" in step]
    texts = [event["text"] for event in finished if event["text"]]
    assert texts == [step["text"] for step in told] == [ANSWER] * len(told)
    asked = [call for event in finished for call in event["tool_calls"]]
    assert [call["name"] for call in asked] == ["count"] * sum("calls" in step for step in told)
    assert all(call["arguments"] == CALL for call in asked)
    streamed = {event["call_id"] for event in trial.events if event["kind"] == "model_start" and event["stream"]}
    assert bool(streamed) == (trial.mode == "stream")
    for event in finished:  # a stream of chat completions tells its usage to those who ask for it
        assert event["call_id"] in streamed or event["usage"]["input_tokens"] is not None, event


def test_what_a_package_does_under_each_fault_is_what_the_page_says(served: Provider, tmp_path: Path) -> None:
    trials = run_faults(FAULTED, served, tmp_path / FAULTED.id)
    found = {(trial.condition, trial.mode): behaviour(trial) for trial in trials}
    assert {found["clean", mode] for mode in MODES.values()} == {"1 call, the answer"}
    rows = [[f"`{fault.name}`", *(found[fault.name, mode] for mode in MODES.values())] for fault in FAULTS]
    assert tables(page("docs/reference/models.md"))[f"{FAULTED.title} {FAULTED.version}"] == rows
    for trial in trials:
        injected = [event for event in trial.events if event["kind"] == "injection"]
        assert len(injected) == (0 if trial.condition == "clean" else trial.calls), trial
        assert {event["tool"] for event in injected} <= {"model:provider"}
