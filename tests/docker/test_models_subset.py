"""Packages that call models, in pods without a network: every session, and one package under every fault, against what
the reference page says of it. `make models` does all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import page, tables
from models.experiment import Trial, read_trials, run_faults
from models.page import behaviour, paths, text
from models.provider import ANSWER, CALL, provider
from models.sessions import Sessions, recorded_sessions
from models.table import CLIENTS, FAULTS, MODES, Client

pytestmark = pytest.mark.timeout(1800)  # the first run on an engine builds the images

PAGE = "docs/reference/models.md"
FAULTED = next(client for client in CLIENTS if client.id == "openai-node")
"""One that starts fast: it is started 18 times."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Sessions:
    return recorded_sessions(tmp_path_factory)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_a_package_gets_along_with_whole_and_with_streamed_answers(client: Client, sessions: Sessions) -> None:
    trials = read_trials(client, sessions.runs[client.id])
    assert [(trial.mode, trial.outcome) for trial in trials] == [(mode, "PASS") for mode in MODES.values()], text(
        trials, []
    )
    assert [trial.seen["mode"] for trial in trials] == list(MODES.values())
    for trial in trials:
        assert_recorded(trial)
    plain, streamed = trials
    row = next(row for row in tables(page(PAGE))["Without a fault"] if row[0] == client.title)
    assert (plain.untold, paths(streamed.untold)) == ((), row[-1])


def test_every_call_of_the_packages_was_made_by_the_host_and_recorded(sessions: Sessions) -> None:
    trials = [trial for client in CLIENTS for trial in read_trials(client, sessions.runs[client.id])]
    assert sessions.calls == sum(trial.calls for trial in trials)


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
        assert event["call_id"] in streamed or event["usage"] is not None, event


def test_what_a_package_does_under_each_fault_is_what_the_page_says(tmp_path: Path) -> None:
    with provider() as served:
        trials = run_faults(FAULTED, served, tmp_path / FAULTED.id)
    found = {(trial.condition, trial.mode): behaviour(trial) for trial in trials}
    assert {found["clean", mode] for mode in MODES.values()} == {"1 call, the answer"}
    rows = [[f"`{fault.name}`", *(found[fault.name, mode] for mode in MODES.values())] for fault in FAULTS]
    assert tables(page(PAGE))[f"{FAULTED.title} {FAULTED.version}"] == rows
    for trial in trials:
        injected = [event for event in trial.events if event["kind"] == "injection"]
        assert len(injected) == (0 if trial.condition == "clean" else trial.calls), trial
        assert {event["tool"] for event in injected} <= {"model:provider"}
