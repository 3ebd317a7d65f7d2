"""Reports of whole runs as text and Markdown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from runs import Parts, condition, evidence, fault, manifest_document, trial_parts

from arci.gate.decide import decide
from arci.model.trial import Trial
from arci.report.escape import columns
from arci.report.markdown import render_markdown
from arci.report.text import render_text
from arci.store.run import StoredRun

NASTY = "\x1b[2J\r\n|<b>`x`漢字\u202e\ud800 [a](http://evil) @team " + "w" * 150
RETRY = {"baseline": "P" * 192 + "F" * 8, "candidate": "P" * 132 + "F" * 68}


def text_of(**options: Any) -> str:
    run = evidence(**options)
    return render_text(decide(run), run)


def markdown_of(**options: Any) -> str:
    run = evidence(**options)
    return render_markdown(decide(run), run)


def line_with(text: str, start: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.strip().startswith(start)]
    return [part for part in line.strip().split("  ") if part.strip()]


def test_the_text_tells_counts_rates_bounds_verdict_and_why() -> None:
    text = text_of(outcomes=RETRY)
    assert text.startswith("BLOCK  synthetic  (exit 1)\n")
    assert [part.strip() for part in line_with(text, "passed  ")] == ["passed", "192/200", "132/200"]
    for told in (
        "0.9600",
        "0.6600",
        "[0.9231, 0.9796] shown only",
        "candidate - baseline: [-0.4048, -0.1829] against -0.1000",
        "all of it below -0.1000",
        "baseline (A)",
        "candidate (B)",
        "alpha 0.05, delta 0.1, clopper_pearson, 1 gating condition, 200 trials per arm",
        "fault tool_timeout on reserve, call 0",
        "injected: baseline 200 in 200 of 200 trials, candidate 200 in 200 of 200 trials",
        "8 x FAIL oracle|reserve timeout tool_timeout",
        "68 x FAIL oracle|reserve timeout tool_timeout",
        "such as reserve-timeout:00132:candidate: the oracle refuses the final state",
        "median 0.25 s, longest 0.25 s",
        "process isolation isolates nothing",
        "median time by phase: create 0.12 s, start",
    ):
        assert told in text


def test_the_markdown_tells_the_same_in_tables() -> None:
    text = markdown_of(outcomes=RETRY)
    for told in (
        "## BLOCK: synthetic\n",
        "|  | baseline (A) | candidate (B) |\n|---|---|---|\n",
        "| passed | 192/200 | 132/200 |\n",
        "| Wilson 95 %, shown only | [0.9231, 0.9796] | [0.5919, 0.7221] |\n",
        "Candidate minus baseline: **[-0.4048, -0.1829]** against -0.1000.\n",
        "| candidate | 68 x FAIL | oracle\\|reserve timeout tool\\_timeout | `reserve-timeout:00132:candidate` |",
    ):
        assert told in text


@pytest.mark.parametrize(
    ("outcomes", "headline"),
    [
        ({"baseline": "P" * 42, "candidate": "P" * 42}, "any drop from baseline to candidate is smaller than 0.1"),
        ({"baseline": "P" * 8, "candidate": "P" * 8}, "neither a drop larger than 0.1 nor its absence"),
        ({"baseline": "P" * 8, "candidate": "F" * 8}, "a drop from baseline to candidate larger than 0.1"),
        ({"baseline": "P" * 8, "candidate": "E" * 8}, "The experiment is invalid"),
    ],
)
def test_each_verdict_is_told_in_plain_words(outcomes: dict[str, str], headline: str) -> None:
    assert headline in text_of(outcomes=outcomes)
    assert headline in markdown_of(outcomes=outcomes)


def test_a_block_by_a_hard_rule_is_not_told_as_a_drop() -> None:
    contract = {**manifest_document()["contract"], "forbidden_tools": ["x"], "hard": ["forbidden_tools"]}

    def parts(trial: Trial, letter: str) -> Parts:
        broken = {"violations": [{"invariant": "forbidden_tools", "tool": "x", "detail": ""}], "required_missing": []}
        if (trial.arm, trial.index) == ("candidate", 0):
            return trial_parts(trial, "F", contract={"success": None, **broken})
        return trial_parts(trial, letter)

    text = text_of(contract=contract, parts=parts)
    assert text.startswith("BLOCK")
    assert "The candidate alone breaks a rule that was declared hard." in text


def test_excluded_trials_are_told_per_arm_and_class_with_both_rates() -> None:  # N81, N82
    def parts(trial: Trial, letter: str) -> Parts:
        change = {"blame": "engine"} if letter == "E" and trial.index == 3 else {}
        return trial_parts(trial, letter, **change)

    for on_error in ("invalidate", "worst_case"):
        options = {"outcomes": {"baseline": "PPFF", "candidate": "PFEE"}, "parts": parts, "on_error": on_error}
        text, marked = text_of(**options), markdown_of(**options)
        assert line_with(text, "planned")[-1].strip() == "4"
        assert line_with(text, "valid")[-1].strip() == "2"
        assert line_with(text, "ERROR by blame")[-1].strip() == "engine 1, harness 1"
        assert line_with(text, "passed of valid")[-1].strip() == "1/2 (never decides)"
        assert line_with(text, "passed  ")[-1].strip() == "1/4"
        assert "best and worst case of the ERROR trials" in text
        assert "| ERROR by blame | 0 | engine 1, harness 1 |" in marked
        assert "| passed of valid, never decides | 2/4 | 1/2 |" in marked


def test_a_lucky_trial_is_shown_with_its_denominator() -> None:  # N79
    text = text_of(outcomes={"baseline": "P" * 10, "candidate": "P" + "E" * 9})
    assert text.startswith("ERROR")
    assert line_with(text, "passed  ")[-1].strip() == "1/10"
    assert line_with(text, "valid")[-1].strip() == "1"


def test_several_tasks_have_a_table() -> None:
    tasks = [{"id": f"task-{number}", "task": {}} for number in range(3)]
    outcomes = {"baseline": "PPFPPF", "candidate": "PFFPFF"}
    text, marked = text_of(outcomes=outcomes, tasks=tasks), markdown_of(outcomes=outcomes, tasks=tasks)
    assert [part.strip() for part in line_with(text, "task-1")] == ["task-1", "2/2", "0/2"]
    assert "| `task-2` | 0/2 | 0/2 |" in marked
    assert "passed by task" not in text_of()


def test_outcomes_that_a_benign_fault_changed_are_listed_per_arm() -> None:
    conditions = [condition("clean", "clean"), condition("slow", "benign", fault("latency", min_injections=0))]

    def parts(trial: Trial, letter: str) -> Parts:
        flipped = (trial.condition_id, trial.arm, trial.index) == ("slow", "candidate", 3)
        return trial_parts(trial, "F" if flipped else letter, injections=[])

    text, marked = text_of(conditions=conditions, parts=parts), markdown_of(conditions=conditions, parts=parts)
    assert "outcomes of the baseline that differ from the same seed without the fault: 0" in text
    assert "outcomes of the candidate that differ from the same seed without the fault: 1" in text
    assert "slow:00003:candidate: PASS without, FAIL with it" in text
    assert "- `slow:00003:candidate`: PASS without, FAIL with it" in marked


def test_identical_traces_are_warned_of() -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        record, events, logs = trial_parts(trial, letter)
        events[1]["arguments"] = {}
        return record, events, logs

    told = "warning: every trial of the baseline gave the same trace"
    assert told in text_of(parts=parts)
    assert told in markdown_of(parts=parts)


def test_facts_and_warnings_of_the_run_are_told() -> None:
    run = evidence()
    assert run.info is not None
    info = {**run.info, "warnings": ["limits not enforced: memory"], "engine": {"name": "docker", "version": "20.10"}}
    run = replace(run, info=info, notes=("one record more than run.json counts",))
    for render in (render_text, render_markdown):
        text = render(decide(run), run)
        assert "warning: limits not enforced: memory" in text
        assert "engine: name docker, version 20.10" in text
        assert "note: one record more" in text


@pytest.mark.parametrize("outcomes", [{"baseline": "PF", "candidate": "FE"}, {"baseline": "PPPP", "candidate": "FFFF"}])
def test_hostile_text_in_every_place_neither_breaks_the_width_nor_reaches_the_terminal(
    outcomes: dict[str, str],
) -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        told = {} if letter == "P" else {"detail": NASTY, "fingerprint": NASTY}
        return trial_parts(trial, letter, agent={"claim": NASTY}, **told)

    arm = {**manifest_document()["arms"]["baseline"], "label": NASTY}
    run = evidence(
        outcomes=outcomes,
        parts=parts,
        arms={"baseline": arm, "candidate": arm},
        tasks=[{"id": NASTY, "task": {}}, {"id": "b", "task": {}}],
        prior_runs=[NASTY],
    )
    assert run.info is not None
    run = replace(run, info={**run.info, "warnings": [NASTY], "engine": {NASTY: NASTY}}, notes=(NASTY,))
    text, marked = render_text(decide(run), run), render_markdown(decide(run), run)
    for shown in (text, marked):
        assert all(c == "\n" or c == " " or c.isprintable() for c in shown)
        assert shown.encode("utf-8")
        assert shown.endswith("\n")
    assert max(map(columns, text.splitlines())) <= 100
    rows = [line for line in marked.splitlines() if line.startswith("| ")]
    assert {row.replace("\\\\", "").replace("\\|", "").count("|") for row in rows} <= {4, 6}
    assert "<b>" not in marked


def test_a_run_of_which_nothing_can_be_read_has_a_report_too() -> None:
    run = StoredRun(None, ({"trial_id": 7}, {}), None)
    assert render_text(decide(run), run).startswith("ERROR")
    assert "no rule could be read" in render_markdown(decide(run), run)


def test_many_groups_of_failures_are_counted_after_the_tenth() -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        return trial_parts(trial, letter, fingerprint=f"oracle|{trial.index:02d}")

    options = {"outcomes": {"baseline": "P" * 25, "candidate": "F" * 25}, "parts": parts}
    assert "and 15 trials in 15 more groups" in text_of(**options)
    assert "| candidate | 15 in 15 more groups |" in markdown_of(**options)
    options = {"outcomes": {"baseline": "P" * 11, "candidate": "F" * 11}, "parts": parts}
    assert "and 1 trial in 1 more group\n" in text_of(**options)
    assert "| candidate | 1 in 1 more group |" in markdown_of(**options)
