"""Failures of stored runs: representatives, their partners, traces held to their seals, log ends, next commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import Parts, condition, edit_records, fault, make_run, read_jsonl, trial_parts

from arci.diagnose.excerpts import MOST_BYTES, MOST_LINES, excerpts
from arci.diagnose.next_steps import file_name, shell_line
from arci.diagnose.traces import read_trace, read_traces
from arci.diagnose.triage import Case, triage_document, triage_run
from arci.errors import StoreError
from arci.model.canonical import canonical
from arci.model.record import chain_events, trace_sha256
from arci.model.trial import Trial
from arci.report.escape import columns
from arci.report.triage import render_triage
from arci.store.logs import LogTail

OUTCOMES = {"baseline": "PPFP", "candidate": "PFFE"}
FAILED, PARTNER = "reserve-timeout:00001:candidate", "reserve-timeout:00001:baseline"
NASTY = "\x1b[2J\u202e<script>" + "w" * 300


def parting(trial: Trial, letter: str) -> Parts:
    """Trials of a seed are alike until one fails: then it does not try again."""
    record, events, logs = trial_parts(trial, letter)
    again = {"kind": "tool_start", "tool": "reserve", "call_id": "2", "occurrence": 1, "arguments": {}}
    steps = [*events[:3], *([again] if letter == "P" else []), events[3]]
    logs["agent"]["stderr"] = LogTail(b"first\nlast words\n", b"", 17)
    logs["grader"] = {"stdout": LogTail(b"{}\n", b"", 3), "stderr": LogTail(b"not confirmed\n", b"", 14)}
    return record, steps, logs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path, outcomes=OUTCOMES, parts=parting)


def case_of(run: Path, outcome: str = "FAIL") -> Case:
    return next(case for case in triage_run(run).cases if case.group.outcome == outcome)


def test_a_group_shows_the_first_candidate_whose_partner_passed_and_where_they_part(run: Path) -> None:
    case = case_of(run)
    assert (case.group.representative, case.group.partner) == (FAILED, PARTNER)
    assert case.group.counts == {"baseline": 1, "candidate": 2}
    assert case.divergence is not None
    assert (case.divergence.a.trial_id, case.divergence.b.trial_id) == (PARTNER, FAILED)
    assert case.divergence.index == 2
    assert case.divergence.b.last_injection is not None
    assert case.divergence.b.last_injection["fault"] == "tool_timeout"


def test_the_representative_does_not_depend_on_the_order_in_which_trials_ended(run: Path) -> None:
    lines = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    (run / "trials.jsonl").write_bytes(b"".join(reversed(lines)))
    assert case_of(run).group.representative == FAILED


def test_an_error_is_a_group_of_its_own_and_not_minimised(run: Path) -> None:
    case = case_of(run, "ERROR")
    assert case.group.representative == "reserve-timeout:00003:candidate"
    assert list(case.commands) == ["show", "diff", "bundle"]
    assert list(case_of(run).commands) == ["show", "diff", "minimize", "bundle"]


def test_commands_are_exact_and_quoted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a b", outcomes=OUTCOMES, parts=parting)
    commands = case_of(run).commands
    out = "reserve-timeout-00001-candidate"
    assert commands["minimize"] == ("arci", "minimize", str(run), FAILED, "--out", f"{out}.smaller.arci.json")
    assert shell_line(commands["bundle"]) == f"arci bundle '{run}' {FAILED} --out {out}.arci"


@pytest.mark.parametrize(
    ("trial_id", "name"), [("c:00012:candidate", "c-00012-candidate"), ("../../x", "x"), ("-", "trial"), ("", "trial")]
)
def test_the_file_of_a_trial_stays_in_its_directory(trial_id: str, name: str) -> None:
    assert file_name(trial_id) == name


def test_a_trial_id_that_no_terminal_can_be_trusted_with_gets_no_command(run: Path) -> None:
    def rename(record: dict[str, Any]) -> None:
        if record["trial_id"] == FAILED:
            record["trial_id"] = NASTY

    edit_records(run, rename)
    cases = triage_run(run, most_groups=50).cases
    named = [case for case in cases if NASTY in case.group.trial_ids]
    assert named
    for case in cases:
        if case.group.representative == NASTY:
            assert case.commands == {}


def test_logs_are_the_agents_and_what_the_oracle_said(run: Path) -> None:
    case = case_of(run)
    assert [(log.role, log.stream) for log in case.logs] == [
        ("agent", "stderr"),
        ("agent", "stdout"),
        ("grader", "stderr"),
    ]
    assert case.logs[0].text == "first\nlast words\n"
    assert [log.role for log in case_of(run, "ERROR").logs] == ["agent", "agent", "grader", "grader"]


def test_of_a_long_log_the_end_is_shown_within_bounds(tmp_path: Path) -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        record, events, logs = trial_parts(trial, letter)
        lines = b"".join(b"line %d\n" % number for number in range(1000))
        logs["agent"]["stdout"] = LogTail(lines[:4000], lines[-4000:], 10**9)
        logs["agent"]["stderr"] = LogTail(("\N{EURO SIGN}" * 3000).encode(), b"", 9000)
        return record, events, logs

    run = make_run(tmp_path, outcomes={"baseline": "P", "candidate": "F"}, parts=parts)
    stderr, stdout = case_of(run).logs
    assert stdout.text.splitlines()[-1] == "line 999"
    assert len(stdout.text.splitlines()) == MOST_LINES
    assert (stdout.total_bytes, stdout.is_whole) == (10**9, False)
    assert set(stderr.text) == {"\N{EURO SIGN}"}
    assert len(stderr.text.encode()) <= MOST_BYTES


def test_a_log_that_is_gone_is_left_out(run: Path) -> None:
    for path in (run / "logs").iterdir():
        path.unlink()
    case = case_of(run)
    assert case.logs == ()
    assert excerpts(run, {"logs": {"agent": {"stdout": {"bytes": "many"}}}, "trial_id": 7}) == ()
    assert triage_run(run).decision.verdict == "ERROR"


def test_a_trial_without_a_partner_is_told_alone(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcomes={"baseline": "P", "candidate": "F"}, skip=["reserve-timeout:00000:baseline"])
    case = case_of(run)
    assert (case.partner, case.divergence) == (None, None)
    assert "diff" not in case.commands
    assert "no trial of the other arm with its seed" in render_triage(triage_run(run))


def test_what_blocks_comes_before_more_failures_of_a_condition_that_does_not_gate(tmp_path: Path) -> None:
    conditions = [condition("hopeless", "ceiling", fault()), condition("gone", "falsify", fault())]

    def parts(trial: Trial, letter: str) -> Parts:
        is_loud = trial.condition_id == "hopeless" and trial.index < 50
        both = "both" if trial.index >= 40 else trial.condition_id
        record, events, logs = trial_parts(trial, "F" if is_loud else letter, fingerprint=both)
        return {**record, "fingerprint": both if record["outcome"] == "FAIL" else None}, events, logs

    outcomes = {"baseline": "P" * 60, "candidate": "P" * 20 + "F" * 40}
    found = triage_run(make_run(tmp_path, outcomes=outcomes, conditions=conditions, parts=parts))
    assert found.decision.verdict == "BLOCK"
    told = [(g["fingerprint"], g["explains"], g["deciding_counts"]) for g in triage_document(found)["groups"]]
    assert told == [
        ("both", True, {"baseline": 0, "candidate": 20}),
        ("gone", True, {"baseline": 0, "candidate": 20}),
        ("hopeless", False, {"baseline": 0, "candidate": 0}),
    ]
    assert found.cases[2].group.size > found.cases[0].group.size
    assert found.cases[0].group.representative == "gone:00040:candidate"
    text = render_triage(found)
    assert "  baseline 10, candidate 40; conditions hopeless (does not gate), gone (BLOCK)\n" in text
    assert text.count("  in what the verdict comes from: baseline 0, candidate 20\n") == 1
    assert "  baseline 0, candidate 20; condition gone (BLOCK)\n" in text


def test_groups_beyond_the_limit_are_listed_and_counted(tmp_path: Path) -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        return trial_parts(trial, letter, fingerprint=f"oracle|{trial.index:02d}")

    run = make_run(tmp_path, outcomes={"baseline": "P" * 60, "candidate": "F" * 60}, parts=parts)
    found = triage_run(run, most_groups=2)
    assert (len(found.cases), len(found.untold)) == (2, 58)
    document = triage_document(found)
    assert (len(document["groups"]), document["untold_groups"], document["untold_trials"]) == (2, 58, 58)
    text = render_triage(found)
    assert "58 more groups (--groups N tells more of them)" in text
    assert "baseline 0, candidate 1: FAIL oracle|31" in text
    assert "and 28 trials in 28 more" in text


def test_a_run_without_failures_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert triage_document(triage_run(run))["groups"] == []
    assert "No recorded trial failed or broke." in render_triage(triage_run(run))


def test_text_is_at_most_100_columns_but_for_commands_whatever_a_run_holds(tmp_path: Path) -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        record, events, logs = trial_parts(trial, letter, fingerprint=NASTY if letter != "P" else None)
        events[1]["arguments"] = {NASTY: [NASTY, letter]}
        logs["agent"]["stderr"] = LogTail(NASTY.encode() + b"\r\n\x00\xff", b"", 1000)
        return {**record, "detail": NASTY}, events, logs

    text = render_triage(triage_run(make_run(tmp_path, outcomes=OUTCOMES, parts=parts)))
    assert all(c == "\n" or c.isprintable() for c in text)
    assert max(columns(line) for line in text.splitlines() if not line.startswith("  arci ")) <= 100


def test_the_document_is_json_and_bounded(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcomes={"baseline": "P" * 60, "candidate": "F" * 60}, parts=parting)
    document = triage_document(triage_run(run))
    (group,) = json.loads(json.dumps(document))["groups"]
    assert (group["size"], len(group["trial_ids"])) == (60, 20)
    assert group["representative"]["logs"][0]["tail"] == "first\nlast words\n"


def test_a_trace_is_read_as_its_record_sealed_it(run: Path) -> None:
    trace = read_trace(run, FAILED)
    assert trace.problem is None
    assert [event["seq"] for event in trace.events] == [0, 1, 2, 3]


def test_a_block_that_no_record_sealed_is_passed_over(run: Path) -> None:
    stale = chain_events(FAILED, [{"kind": "trial_start", "task_id": "other"}, {"kind": "trial_end", "ending": "x"}])
    path = run / "events.jsonl"
    path.write_bytes(b"".join(canonical(event) + b"\n" for event in stale) + path.read_bytes())
    assert read_trace(run, FAILED).events[0]["task_id"] == "task"


def reseal(events: list[dict[str, Any]], change: Any) -> list[dict[str, Any]]:
    bare = [{k: v for k, v in event.items() if k not in ("trial_id", "seq", "sha256")} for event in events]
    change(bare)
    return chain_events(FAILED, bare)


@pytest.mark.parametrize("resealed", [True, False])
def test_events_that_were_changed_are_no_trace(run: Path, resealed: bool) -> None:
    lines = read_jsonl(run / "events.jsonl")
    mine = [line for line in lines if line.get("trial_id") == FAILED and "seq" in line]
    others = [line for line in lines if line not in mine]
    forged = reseal(mine, lambda bare: bare[1].update(tool="other"))
    if not resealed:
        forged = [{**event, "sha256": real["sha256"]} for event, real in zip(forged, mine, strict=True)]
    (run / "events.jsonl").write_bytes(b"".join(canonical(line) + b"\n" for line in [*others, *forged]))
    with pytest.raises(StoreError, match="not there whole" if resealed else "chain of its events is broken"):
        read_trace(run, FAILED)
    case = case_of(run)
    assert (case.representative.problem is None, case.divergence) == (False, None)
    assert "no two traces to compare" in render_triage(triage_run(run))


@pytest.mark.parametrize("kind", [None, 7, ["x"]])
def test_an_event_of_no_kind_is_no_trace_even_when_all_seals_fit(run: Path, kind: Any) -> None:
    mine = [e for e in read_jsonl(run / "events.jsonl") if e.get("trial_id") == FAILED and "seq" in e]
    forged = reseal(mine, lambda bare: bare[1].update(kind=kind))
    (run / "events.jsonl").write_bytes(b"".join(canonical(line) + b"\n" for line in forged))

    def edit(record: dict[str, Any]) -> None:
        record["recording"] = {"events": len(forged), "sha256": forged[-1]["sha256"]}

    edit_records(run, edit)
    with pytest.raises(StoreError, match="has no kind"):
        read_trace(run, FAILED)


def test_steps_that_the_record_did_not_seal_are_no_trace(run: Path) -> None:
    edit_records(run, lambda record: record.update(trace_sha256=trace_sha256([])))
    with pytest.raises(StoreError, match="not those that its record sealed"):
        read_trace(run, FAILED)


def test_a_record_that_was_changed_is_no_trace(run: Path) -> None:
    edit_records(run, lambda record: record.update(detail="other"), reseal=False)
    with pytest.raises(StoreError, match="not what was sealed"):
        read_trace(run, FAILED)


def test_a_store_without_events_gives_problems_and_no_exception(run: Path) -> None:
    (run / "events.jsonl").unlink()
    traces = read_traces(run, {FAILED: {"trial_id": FAILED}})
    assert traces[FAILED].problem == "events.jsonl: No such file or directory"


def test_records_that_are_none_are_in_no_group(run: Path) -> None:
    def damage(record: dict[str, Any]) -> None:
        changes: dict[str, dict[str, Any]] = {FAILED: {"trial_id": 7}, PARTNER: {"index": "x", "logs": 3}}
        record.update(changes.get(record["trial_id"], {}))

    edit_records(run, damage)
    found = triage_run(run)
    assert (found.decision.verdict, {case.group.outcome for case in found.cases}) == ("ERROR", {"FAIL", "ERROR"})
    assert not [case for case in found.cases if FAILED in case.group.trial_ids]
    assert render_triage(found).startswith("ERROR")
