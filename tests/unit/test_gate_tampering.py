"""Evidence that was changed, cut, swapped or made up never gives PASS or BLOCK, and the trial is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import edit_info, edit_records, evidence, make_run, manifest_document, read_jsonl, write_records

from arci.gate.decide import decide
from arci.gate.decision import decision_bytes
from arci.model.canonical import canonical, digest
from arci.model.manifest import manifest_sha256
from arci.model.trial import Verdict
from arci.store.reader import read_run
from arci.store.run import StoredRun
from arci.store.verify import seal_info

MARK = "reserve-timeout:00000:candidate"
LETTERS = {"baseline": "P", "candidate": "F"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return make_run(tmp_path, outcomes=LETTERS)


def reasons_of_error(store: Path) -> str:
    decision = decide(read_run(store))
    assert decision.verdict is Verdict.ERROR
    assert decision_bytes(decision)
    return "\n".join(decision.reasons)


def flips(raw: bytes, start: int, end: int, step: int = 1) -> Iterator[bytes]:
    """Every byte with its lowest bit flipped, and every seventh one with the bit for case and the highest flipped."""
    for at in range(start, end, step):
        for bit in (0x01, 0x20, 0x80) if at % 7 == 0 else (0x01,):
            yield raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :]


def place_of_line(path: Path, marks: tuple[str, ...]) -> tuple[bytes, int, int]:
    """The file, and where in it the first line with all the marks stands."""
    raw, start = path.read_bytes(), 0
    for line in raw.splitlines(keepends=True):
        if all(mark.encode() in line for mark in marks):
            return raw, start, start + len(line)
        start += len(line)
    raise AssertionError(marks)


def test_the_untouched_run_is_no_error(store: Path) -> None:
    assert decide(read_run(store)).verdict is Verdict.INCONCLUSIVE


def test_a_flipped_bit_anywhere_in_a_record_is_an_error_that_names_the_trial(store: Path) -> None:
    path = store / "trials.jsonl"
    for changed in flips(*place_of_line(path, (MARK,))):
        path.write_bytes(changed)
        assert MARK in reasons_of_error(store)


@pytest.mark.parametrize("kind", ["trial_start", "tool_start", "injection", "trial_end"])
def test_a_flipped_bit_anywhere_in_an_event_is_an_error_that_names_the_trial(store: Path, kind: str) -> None:
    path = store / "events.jsonl"
    for changed in flips(*place_of_line(path, (MARK, f'"kind":"{kind}"'))):
        path.write_bytes(changed)
        assert MARK in reasons_of_error(store)


def test_a_flipped_bit_in_a_started_line_is_an_error(store: Path) -> None:
    path = store / "events.jsonl"
    for changed in flips(*place_of_line(path, (MARK, '"kind":"started"'))):
        path.write_bytes(changed)
        assert "events.jsonl" in reasons_of_error(store)


def test_a_flipped_bit_anywhere_in_the_run_file_is_an_error(store: Path) -> None:
    path = store / "run.json"
    raw = path.read_bytes()
    for changed in flips(raw, 0, len(raw)):
        path.write_bytes(changed)
        assert "run.json" in reasons_of_error(store)


def test_a_flipped_bit_in_the_manifest_is_an_error_unless_it_is_where_nothing_decides(store: Path) -> None:
    path = store / "manifest.json"
    raw, decided = path.read_bytes(), decision_bytes(decide(read_run(store)))
    sealed_until = raw.index(b',"volatile":') + 1
    for changed in flips(raw, 0, sealed_until, 3):
        path.write_bytes(changed)
        assert "manifest.json" in reasons_of_error(store)
    for changed in flips(raw, sealed_until, len(raw), 3):
        path.write_bytes(changed)
        decision = decide(read_run(store))
        assert decision.verdict is Verdict.ERROR or decision_bytes(decision) == decided


def test_a_flipped_bit_in_a_kept_log_is_an_error_that_names_the_trial(store: Path) -> None:
    [path] = [p for p in (store / "logs").iterdir() if "candidate" in p.name]
    raw = path.read_bytes()
    for changed in flips(raw, 0, len(raw)):
        path.write_bytes(changed)
        assert MARK in reasons_of_error(store)


@pytest.mark.parametrize("key", ["delta", "alpha", "n_per_arm", "on_error", "base_seed", "arms", "tasks", "images"])
def test_a_manifest_resealed_with_another_rule_matches_no_trial(store: Path, key: str) -> None:
    document = json.loads((store / "manifest.json").read_bytes())
    other = {
        "delta": 0.9,
        "alpha": 0.5,
        "n_per_arm": 2,
        "on_error": "worst_case",
        "base_seed": 1,
        "arms": {**document["arms"], "candidate": document["arms"]["baseline"]},
        "tasks": [{"id": "task", "task": {}}],
        "images": {**document["images"], "candidate": {"sha256": digest("other")}},
    }
    changed = {**document, key: other[key]}
    changed["record_sha256"] = manifest_sha256(changed)
    (store / "manifest.json").write_bytes(canonical(changed) + b"\n")
    edit_info(store, manifest_sha256=changed["record_sha256"])
    told = reasons_of_error(store)
    assert f"trial {MARK}: it is not the planned one" in told
    assert "trial_sha256" in told


@pytest.mark.parametrize("role", ["agent", "boundary", "grader"])
def test_a_swapped_image_is_named_with_its_trial_though_all_is_sealed_again(store: Path, role: str) -> None:
    def swap(record: dict[str, Any]) -> None:
        if record["trial_id"] == MARK:
            record["images"] = {**record["images"], role: digest("another image")}

    edit_records(store, swap)
    assert f"trial {MARK}: it ran other images than the manifest names: {role}" in reasons_of_error(store)


@pytest.mark.parametrize("dropped", [0, 3, -1])
@pytest.mark.parametrize("reseal", [True, False])
def test_a_dropped_trial_is_named_even_if_all_is_sealed_again(tmp_path: Path, dropped: int, reseal: bool) -> None:
    store = make_run(tmp_path, outcomes={"baseline": "PPP", "candidate": "PPP"})
    records = read_jsonl(store / "trials.jsonl")
    gone = records.pop(dropped)["trial_id"]
    write_records(store, records, reseal=reseal)
    assert f"trial {gone}: was planned and is not recorded" in reasons_of_error(store)


def test_a_trial_recorded_twice_is_named(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    write_records(store, [*records, records[0]])
    assert f"trial {records[0]['trial_id']}: is recorded more than once" in reasons_of_error(store)


def test_a_trial_that_nobody_planned_is_named(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    write_records(store, [*records, {**records[0], "trial_id": "x:00000:baseline"}])
    assert "trial x:00000:baseline: is recorded and was not planned" in reasons_of_error(store)


def test_records_in_another_order_break_the_chain(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    write_records(store, records[::-1], reseal=False)
    assert "its previous_sha256 is not the digest of the record before it" in reasons_of_error(store)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 12001),
        ("pair_id", "reserve-timeout:00001"),
        ("index", True),
        ("task_id", "other"),
        ("trial_sha256", "0" * 64),
        ("manifest_sha256", "0" * 64),
        ("arm", "baseline"),
        ("condition_id", "none"),
    ],
)
def test_every_part_of_the_identity_is_compared_with_the_plan(store: Path, key: str, value: object) -> None:
    edit_records(store, lambda record: record.update({key: value}) if record["trial_id"] == MARK else None)
    told = reasons_of_error(store)
    assert f"trial {MARK}: it is not the planned one: {key} differ" in told


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "GOOD"},
        {"ending": None},
        {"blame": "nobody"},
        {"blame": None},
        {"injections": [{"fault": "tool_timeout", "fault_index": 1}]},
        {"injections": [{"fault": "latency", "fault_index": 0}]},
        {"injections": [{"fault": "tool_timeout", "fault_index": -1}]},
        {"injections": None},
        {"contract": []},
        {"contract": {"success": False, "violations": [{}], "required_missing": []}},
        {"format": "arci.record/2"},
        {"detail": 7},
    ],
)
def test_a_record_that_makes_no_sense_is_named(store: Path, change: dict[str, Any]) -> None:
    edit_records(store, lambda record: record.update(change) if record["trial_id"] == MARK else None)
    assert f"trial {MARK}: its record " in reasons_of_error(store)


def test_the_run_file_of_another_run_is_refused(store: Path) -> None:
    edit_info(store, manifest_sha256="0" * 64)
    assert "run.json: its manifest_sha256 is another manifest's" in reasons_of_error(store)


def test_an_interrupted_trial_that_nobody_planned_is_refused(store: Path) -> None:
    edit_info(store, interrupted=["x"])
    assert "trial x: was started and was not planned" in reasons_of_error(store)


def test_interrupted_starts_are_counted_per_arm(store: Path) -> None:
    edit_info(store, interrupted=[MARK, MARK])
    [c] = decide(read_run(store)).conditions
    assert c.interrupted == {"baseline": 0, "candidate": 2}


def test_records_that_do_not_hold_give_counts_and_no_bounds(store: Path) -> None:
    edit_info(store, events=99)
    [c] = decide(read_run(store)).conditions
    assert (c.verdict, c.delta_low, c.baseline.low, c.baseline.n) == (Verdict.ERROR, None, None, 1)


def test_many_objections_of_a_kind_are_counted_after_the_first_ten(tmp_path: Path) -> None:
    store = make_run(tmp_path, outcomes={"baseline": "P" * 30, "candidate": "P" * 30})
    edit_records(store, lambda record: record.update(seed=0))
    decision = decide(read_run(store))
    assert len(decision.reasons) == 11
    assert decision.reasons[-1] == "and 50 more like these: other identity"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"looks": [4, 8]}, "looks"),
        ({"interval_method": "newcombe"}, "interval_method"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": True}, "alpha"),
        ({"alpha": "0.05"}, "alpha"),
        ({"delta": 1}, "delta"),
        ({"n_per_arm": 0}, "n_per_arm"),
        ({"n_per_arm": 10**9}, "n_per_arm"),
        ({"n_per_arm": 8.0}, "n_per_arm"),
        ({"on_error": "ignore"}, "on_error"),
        ({"conditions": []}, "conditions"),
        ({"conditions": None}, "cannot be used"),
        ({"arms": {}}, "arms"),
        ({"tasks": []}, "tasks"),
        ({"images": {}}, "images: nothing says what runs for baseline, candidate"),
        ({"format": "arci.manifest/9"}, "format"),
    ],
)
def test_a_manifest_that_gives_no_rule_is_an_error_with_the_reason(changes: dict[str, Any], told: str) -> None:
    decision = decide(StoredRun(manifest_document(**changes), (), None))
    assert decision.verdict is Verdict.ERROR
    assert told in "\n".join(decision.reasons)
    assert decision_bytes(decision)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_any_value_in_place_of_any_other_is_an_error_and_never_an_exception(data: st.DataObject) -> None:
    run = evidence(outcomes=LETTERS)
    where = data.draw(st.sampled_from(["manifest", "record", "info", "records"]))
    value: Any = data.draw(JSON)
    if where == "records":
        run = replace(run, records=(value, *run.records))
    elif where == "record":
        run = replace(run, records=(_changed(data, run.records[0], value), run.records[1]))
    else:
        run = replace(run, **{where: _changed(data, getattr(run, where), value)})
    decision = decide(run)
    assert decision.verdict in (Verdict.ERROR, Verdict.INCONCLUSIVE)  # the latter: a key that nothing looks at
    assert decision_bytes(decision)


def _changed(data: st.DataObject, document: Any, value: Any) -> Any:
    """The document with `value` at a path drawn from it, sealed again as far as it is a record or a manifest."""
    changed = json.loads(json.dumps(document))
    place = changed
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = value
            break
        place = place[key]
    try:
        if "volatile" in document:
            changed["record_sha256"] = manifest_sha256(changed)
        elif "outcome" in document:
            changed["record_sha256"] = digest({k: v for k, v in changed.items() if k != "record_sha256"})
        else:
            changed = seal_info(changed)
    except ValueError:
        pass  # NaN cannot be sealed; the gate has to live with it all the same
    return changed
