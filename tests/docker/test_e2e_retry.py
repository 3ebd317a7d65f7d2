"""The retry example on a real engine at full size: verdict, the same trials as in processes, and tampering with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e import EXAMPLES, Finished, arci, call, info, recorded, records

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN
from arci.model.canonical import canonical
from arci.model.manifest import manifest_sha256
from arci.model.record import seal_record
from arci.store.verify import seal_info

pytestmark = pytest.mark.timeout(900)

EXAMPLE = "retry_agent/a-vs-b.yaml"
TRIAL = "reserve-timeout:00005:candidate"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return recorded(tmp_path_factory, EXAMPLE, "docker")[0]


@pytest.fixture
def copy(ended: Finished, tmp_path: Path) -> Path:
    """The run, to be changed."""
    return Path(shutil.copytree(ended.run, tmp_path / "run"))


def test_a_lost_retry_blocks(ended: Finished) -> None:
    condition = ended.json["conditions"][0]
    assert (ended.exit_code, ended.json["verdict"]) == (1, "BLOCK"), ended.stderr
    assert (condition["baseline"]["successes"], condition["candidate"]["successes"]) == (192, 132)
    assert (round(condition["delta_low"], 4), round(condition["delta_high"], 4)) == (-0.4048, -0.1829)


def test_processes_come_to_the_same_trial_by_trial(ended: Finished, tmp_path_factory: pytest.TempPathFactory) -> None:
    other, run = recorded(tmp_path_factory, EXAMPLE, "process")
    keys = ("seed", "outcome", "ending", "blame", "fingerprint", "trace_sha256", "final_state", "injections")
    mine, theirs = (
        {trial: {key: record[key] for key in keys} for trial, record in records(path).items()}
        for path in (ended.run, run)
    )
    assert len(mine) == 400
    assert mine == theirs
    decided = [
        {key: value for key, value in each.json.items() if key not in ("manifest_sha256", "trials_sha256", "run")}
        for each in (ended, other)
    ]
    assert (other.exit_code, decided[1]) == (ended.exit_code, decided[0])


def test_each_trial_had_containers_of_its_own_images(ended: Finished) -> None:
    manifest = json.loads((ended.run / "manifest.json").read_bytes())
    for record in records(ended.run).values():
        expected = {"agent": manifest["images"][record["arm"]]["sha256"]}
        expected |= {role: manifest["images"][role]["sha256"] for role in ("boundary", "grader")}
        assert record["images"] == expected
    assert manifest["images"]["baseline"]["sha256"] != manifest["images"]["boundary"]["sha256"]


def test_nothing_of_the_run_is_left_on_the_engine(ended: Finished, engine: Engine) -> None:
    mine = {"label": [f"{RUN}={info(ended.run)['run_id']}"]}
    assert engine.api.containers(all=True, filters=mine) == []
    assert engine.api.volumes(filters=mine)["Volumes"] in ([], None)
    assert engine.api.networks(filters=mine) == []


def test_gate_comes_to_the_same_decision_byte_for_byte(
    ended: Finished, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = (copy / "decision.json").read_bytes()
    (copy / "decision.json").unlink()
    assert call(capsys, "gate", copy).exit_code == 1
    assert (copy / "decision.json").read_bytes() == written
    assert {**json.loads(written), "run": str(ended.run)} == ended.json


@pytest.mark.parametrize("format_", ["text", "md"])
def test_the_report_tells_what_was_found(ended: Finished, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "report", ended.run, "--format", format_)
    assert shown.exit_code == 0
    for text in ("BLOCK", "192/200", "132/200", "-0.4048", "-0.1829", "tool_timeout", "docker"):
        assert text in shown.stdout.replace("\\_", "_")


def test_show_and_logs_tell_a_trial(ended: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    people, machine = call(capsys, "show", ended.run, TRIAL), call(capsys, "show", ended.run, TRIAL, "--json")
    kinds = [event["kind"] for event in machine.json["events"]]
    assert (kinds[0], kinds[-1], kinds.count("injection")) == ("trial_start", "trial_end", 1)
    for text in (TRIAL, "FAIL", "tool_timeout", "reserve"):
        assert text in people.stdout
    assert call(capsys, "logs", ended.run, TRIAL).exit_code == 0


def flip_in_record(run: Path) -> None:
    """One bit of the trial's outcome."""
    change_line(run / "trials.jsonl", lambda line: line.replace(b'"outcome":"FAIL"', b'"outcome":"FAIM"'))


def flip_in_seal(run: Path) -> None:
    change_line(run / "trials.jsonl", lambda line: line.replace(b'"record_sha256":"', b'"record_sha256":" ', 1))


def flip_in_final_state(run: Path) -> None:
    change_line(run / "trials.jsonl", lambda line: line.replace(b'"stock":{"widget":10}', b'"stock":{"widget":11}'))


def flip_in_event(run: Path) -> None:
    change_line(run / "events.jsonl", lambda line: line.replace(b'"reserve"', b'"reserwe"'))


def drop_event(run: Path) -> None:
    change_line(run / "events.jsonl", lambda line: b"" if b'"injection"' in line else line)


def drop_trial(run: Path) -> None:
    change_line(run / "trials.jsonl", lambda line: b"")


def drop_trial_and_reseal(run: Path) -> None:
    reseal(run, [r for r in records(run).values() if r["trial_id"] != TRIAL])


def swap_image_and_reseal(run: Path) -> None:
    found = records(run)
    found[TRIAL]["images"]["agent"] = found[TRIAL]["images"]["boundary"]
    reseal(run, list(found.values()))


def swap_outcome_and_reseal(run: Path) -> None:
    found = records(run)
    found[TRIAL] |= {"outcome": "PASS", "ending": "completed", "blame": None, "fingerprint": None}
    reseal(run, list(found.values()))


def reseal_manifest_with_another_delta(run: Path) -> None:
    """As somebody would who finds the rule too strict once the data are there: everything fits but the trials."""
    manifest = json.loads((run / "manifest.json").read_bytes())
    manifest["delta"] = 0.45
    manifest["record_sha256"] = manifest_sha256(manifest)
    (run / "manifest.json").write_bytes(canonical(manifest) + b"\n")
    changed = info(run) | {"manifest_sha256": manifest["record_sha256"]}
    found = [record | {"manifest_sha256": manifest["record_sha256"]} for record in records(run).values()]
    reseal(run, found, changed)


@pytest.mark.parametrize(
    "tamper",
    [
        flip_in_record,
        flip_in_seal,
        flip_in_final_state,
        flip_in_event,
        drop_event,
        drop_trial,
        drop_trial_and_reseal,
        swap_image_and_reseal,
        swap_outcome_and_reseal,
        reseal_manifest_with_another_delta,
    ],
)
def test_what_was_tampered_with_is_an_error_that_names_the_trial(
    tamper: Callable[[Path], None], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [(copy / name).read_bytes() for name in ("trials.jsonl", "events.jsonl")]
    tamper(copy)
    assert [(copy / name).read_bytes() for name in ("trials.jsonl", "events.jsonl")] != before
    judged = call(capsys, "gate", copy, "--json")
    assert (judged.exit_code, judged.json["verdict"]) == (3, "ERROR")
    named = TRIAL if tamper is not reseal_manifest_with_another_delta else "trial reserve-timeout:"
    assert any(named in reason for reason in judged.json["reasons"]), judged.json["reasons"]


def test_the_report_example_blocks(tmp_path: Path) -> None:
    """At the least size that can: 27 worlds, 14 of which have a third region."""
    example = EXAMPLES / "file_report" / "arci.yaml"
    ended = arci("run", example, "--isolation", "docker", "--n", 27, "--out", tmp_path, "--json")
    clean, faulted = ended.json["conditions"]
    assert (ended.exit_code, ended.json["verdict"], faulted["verdict"]) == (1, "BLOCK", "BLOCK")
    assert [condition["baseline"]["successes"] for condition in (clean, faulted)] == [27, 27]
    assert [condition["candidate"]["successes"] for condition in (clean, faulted)] == [27, 13]
    files = [record["evidence"]["files"] for record in records(ended.run).values()]
    assert all(set(each) == {"report.json"} for each in files)


def change_line(path: Path, change: Callable[[bytes], bytes]) -> None:
    """`change` what the trial's lines of a file are."""
    lines = path.read_bytes().splitlines(keepends=True)
    mark = f'"trial_id":"{TRIAL}"'.encode()
    path.write_bytes(b"".join(change(line) if mark in line else line for line in lines))


def reseal(run: Path, found: list[dict[str, Any]], facts: dict[str, Any] | None = None) -> None:
    """Make every digest and link fit again, as far as somebody can who holds no more than the files."""
    sealed: list[dict[str, Any]] = []
    for record in found:
        previous = sealed[-1]["record_sha256"] if sealed else found[0]["previous_sha256"]
        sealed.append(seal_record(record, previous))
    (run / "trials.jsonl").write_bytes(b"".join(canonical(record) + b"\n" for record in sealed))
    counts = {"records": len(sealed), "last_record_sha256": sealed[-1]["record_sha256"]}
    (run / "run.json").write_bytes(canonical(seal_info({**(facts or info(run)), **counts})) + b"\n")
