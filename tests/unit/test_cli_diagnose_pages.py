"""The pages on triage and reports: every command of theirs, on the run that they speak of."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from docs_pages import blocks, files, page, shown_commands, tables, write
from e2e import Finished, arci, call
from runs import Parts, evidence, manifest_document, trial_parts

from arci.diagnose.triage import triage_of
from arci.gate.decide import decide
from arci.isolation.process.native import find_init
from arci.model.trial import Trial
from arci.report.html import render_html

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

TRIAGE, REPORT = "docs/how-to/triage-a-block.md", "docs/how-to/read-a-report.md"
EXIT_CODES = {"triage": 1, "diff": 1, "show": 0, "logs": 0, "trace-check": 0, "report": 0}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first experiment was run."""
    place = tmp_path_factory.mktemp("triage")
    write(place, files(page("docs/how-to/first-experiment.md")))
    ended = arci("run", place / "arci.yaml", "--out", place / "runs", "--json")
    assert ended.exit_code == 1, ended.stderr
    return place


def shown(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Finished]:
    monkeypatch.chdir(place)
    ended = {}
    for words in shown_commands(page(name)):
        ended[words[0]] = call(capsys, *words)
        assert ended[words[0]].exit_code == EXIT_CODES[words[0]], words
        assert ended[words[0]].stderr == "" or words[0] == "logs"
    return ended


def test_the_page_on_triage_holds(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = shown(TRIAGE, place, monkeypatch, capsys)
    assert set(ended) == {"triage", "diff", "show", "logs", "trace-check"}
    (told,) = [block.text for block in blocks(page(TRIAGE), "text")]
    missing = set(told.splitlines()) - {line.rstrip() for line in ended["diff"].stdout.splitlines()}
    assert not missing, ended["diff"].stdout
    named = next(words for words in shown_commands(page(TRIAGE)) if words[0] == "diff")
    assert f"arci {' '.join(named)}" in ended["triage"].stdout
    assert ended["trace-check"].stdout.startswith("MATCH\n")


def test_the_page_on_reports_names_every_row_of_a_condition() -> None:
    model = {"kind": "openai", "calls": 3, "input_tokens": 9, "output_tokens": 5, "cost_usd": 0.5, "latencies_s": [0.5]}
    decision = {"kind": "systemone", "calls": 1, "latencies_s": [0.5]}
    broken = {"success": None, "violations": [{"invariant": "forbidden_tools", "tool": "x", "detail": ""}]}
    contract = {**manifest_document()["contract"], "forbidden_tools": ["x"], "hard": ["forbidden_tools"]}

    def parts(trial: Trial, letter: str) -> Parts:
        more = {"contract": {**broken, "required_missing": []}} if letter == "F" else {}
        return trial_parts(trial, letter, models={"m": model, "d": decision}, **more)

    run = evidence(outcomes={"baseline": "PPPP", "candidate": "FPPE"}, contract=contract, parts=parts)
    run = replace(run, in_flight=("reserve-timeout:00002:baseline",))
    told = render_html(triage_of(Path("nowhere"), run, decide(run)))
    (both,) = re.findall(r"<caption>Both arms</caption>(.*?)</table>", told, re.DOTALL)
    shown = re.findall(r'<th scope="row">(.*?)</th>', both)
    named = [row[0].strip("`") for row in tables(page(REPORT))["What the table of a condition tells"]]
    assert [name.replace("forbidden_tools", "NAME") for name in shown] == named


def test_the_page_on_reports_holds(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(shown(REPORT, place, monkeypatch, capsys)) == {"report"}
    assert (place / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
