"""A secret of the host that an agent is given: it reaches the agent and nothing that is kept."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from e2e import Finished, arci, records
from secret import NAME, SECRET, telltale

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

FORMS = (SECRET, SECRET[4:-4], quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode().rstrip("="))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("secret")
    return arci("run", telltale(directory, "process"), "--out", directory / "runs", "--json", env={NAME: SECRET})


def test_the_agent_is_given_it(ended: Finished) -> None:
    assert {record["final_state"]["length"] for record in records(ended.run).values()} == {len(SECRET)}


@pytest.mark.parametrize("form", FORMS)
def test_it_is_in_nothing_that_is_kept_or_printed(form: str, ended: Finished) -> None:
    files = [path for path in ended.run.rglob("*") if path.is_file()]
    assert {"trials.jsonl", "events.jsonl", "manifest.json", "run.json", "decision.json"} <= {p.name for p in files}
    assert len(files) > 10
    assert [path for path in files if form.encode() in path.read_bytes()] == []
    assert form not in ended.stdout
    assert form not in ended.stderr
    assert form not in arci("report", ended.run, "--format", "md").stdout


def test_its_name_stands_where_it_was(ended: Finished) -> None:
    for record in records(ended.run).values():
        assert record["agent"]["claim"]["plain"] == f"it is <secret:{NAME}>"


def test_the_logs_keep_their_size(ended: Finished) -> None:
    trial = next(iter(records(ended.run)))
    shown = arci("logs", ended.run, trial)
    for said in (shown.stdout, shown.stderr):
        assert f"token={'*' * len(SECRET)};" in said


def test_a_secret_that_the_host_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    refused = arci("run", telltale(tmp_path, "process"), "--out", tmp_path / "runs", env={NAME: None})
    assert refused.exit_code == 64
    assert NAME in refused.stderr
    assert not (tmp_path / "runs").exists()
