"""The reference page against the table of packages: what it says was run is what the table names, and all got along."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import page, tables

from arci.manifest.descriptor import load_descriptor
from models.experiment import HERE, Trial, descriptor_of, write_experiment
from models.page import behaviour, markdown, text
from models.provider import ANSWER
from models.table import CLIENTS, FAULTS, MODES, Client

URL = "http://127.0.0.1:9/v1"


def trial(outcome: str = "PASS", calls: int = 1, said: str = ANSWER, error: str | None = None) -> Trial:
    events = tuple({"kind": kind} for kind in ["model_start", "model_finish"] * calls)
    seen = {"mode": "plain", "text": said, "pieces": 1, "error": error}
    return Trial(CLIENTS[0], "plain", "model_error", outcome, "it gave up", seen, events)


def test_the_page_tells_that_every_package_of_the_table_got_along() -> None:
    rows = tables(page("docs/reference/models.md"))["Without a fault"]
    assert [row[0] for row in rows] == [client.title for client in CLIENTS]
    for row, client in zip(rows, CLIENTS, strict=True):
        assert row[1:-1] == [", ".join(f"`{name}`" for name in client.packages), ", ".join(client.steps), "yes", "yes"]
        assert row[-1] in ("none", "`/chat/completions`")  # the other protocols tell it unasked


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_the_page_tells_what_every_package_did_under_every_fault(client: Client) -> None:
    rows = tables(page("docs/reference/models.md"))[f"{client.title} {client.version}"]
    assert [row[0] for row in rows] == [f"`{fault.name}`" for fault in FAULTS]
    assert all(" call" in cell for row in rows for cell in row[1:])


def test_the_page_says_nothing_else_than_what_makes_it() -> None:
    """All but the cells of the fault tables and the last of the first table, which only a run can tell."""
    sessions = [Trial(client, mode, "clean", "PASS", "", {}, ()) for client in CLIENTS for mode in MODES.values()]
    faults = {f"`{fault.name}`" for fault in FAULTS}

    def told(text: str) -> list[str]:
        lines = [line for line in text.splitlines() if line.split(" | ")[0].lstrip("| ") not in faults]
        return [line.rsplit(" | ", 1)[0] if line.startswith("|") else line for line in lines]

    assert told(page("docs/reference/models.md")) == told(markdown(sessions, []))


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (trial(), "1 call, the answer"),
        (trial(calls=3, said="", error="openai.RateLimitError"), "3 calls, `openai.RateLimitError`"),
        (trial(said=ANSWER[:4]), "1 call, **no error**, part of the answer"),
        (trial(said=""), "1 call, **no error**, an empty answer"),
        (trial("ERROR"), "NO RESULT"),
    ],
)
def test_a_trial_is_told_in_a_few_words(made: Trial, told: str) -> None:
    assert behaviour(made) == told


def test_a_package_that_fails_is_told_of_in_both_tables() -> None:
    broken = trial("FAIL")
    assert tables(markdown([broken], []))["Without a fault"][0][3] == "NO"
    assert text([broken], []).splitlines()[-1] == f"{broken.client.id} plain: it gave up"


def test_streams_that_tell_no_usage_are_named_by_what_they_ask() -> None:
    usages: dict[str, dict[str, int] | None] = {"/chat/completions": None, "/responses": {}, "/embeddings": {}}
    events = tuple(
        {"kind": kind, "call_id": number, "path": path, "usage": usage}
        for number, (path, usage) in enumerate(usages.items())
        for kind in ("model_start", "model_finish")
    )
    for mode, told in (("stream", "`/chat/completions`"), ("plain", "none")):
        made = Trial(CLIENTS[0], mode, "clean", "PASS", "", {}, events)
        assert tables(markdown([made], []))["Without a fault"][0][-1] == told


@pytest.mark.parametrize("scope", ["session", "call"])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_every_package_is_an_experiment_in_which_nothing_is_wrong(client: Client, scope: str, tmp_path: Path) -> None:
    loaded = load_descriptor(write_experiment(tmp_path / "made", client, descriptor_of(client, scope, URL)))
    assert loaded.experiment_id == f"models-{client.id}-{scope}"
    assert [fault["name"] for c in loaded.document["conditions"] for fault in c["faults"]] == [
        fault.name for fault in FAULTS if scope == "call"
    ]
    assert (tmp_path / "made" / "client" / client.program).is_file()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_what_is_installed_is_pinned(client: Client) -> None:
    separator = "@" if client.source == "node" else "=="
    assert all(package.rpartition(separator)[2][0].isdigit() for package in client.packages)


def test_every_program_that_is_there_is_in_the_table() -> None:
    found = {path.name for path in HERE.glob("clients/*/*") if path.is_file()} - {"seen.py", "seen.mjs"}
    assert found == {client.program for client in CLIENTS}
