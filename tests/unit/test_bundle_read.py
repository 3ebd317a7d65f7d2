"""Reading what somebody else made: every byte is accounted for, and the parts of a bundle must fit each other."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundles import KEY, TRIAL, forge, members_of, process_bundle, process_run, rebuild, smaller

from arci.bundle.read import read_bundle
from arci.bundle.refusal import DEFAULT_BOUNDS, BundleError
from arci.bundle.write import write_bundle
from arci.errors import StoreError, UsageError
from arci.model.canonical import canonical
from arci.model.manifest import manifest_sha256
from arci.model.record import seal_record
from arci.store.reader import read_events, read_record

pytestmark = pytest.mark.anyio

Members = dict[str, bytes]


@pytest.fixture(autouse=True)
def _private_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def refused(bundle: Path) -> str:
    """Why it is refused; nothing may be left in the directory for temporary files."""
    with pytest.raises(BundleError) as caught, read_bundle(bundle):
        pass
    assert names(Path(tempfile.gettempdir())) == []
    assert str(caught.value).startswith(f"{bundle}: ")
    return caught.value.message


async def test_a_trial_comes_back_as_it_was_recorded(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    run = next((tmp_path / "runs").iterdir())
    with read_bundle(bundle) as found:
        assert found.record == read_record(run, TRIAL)
        assert found.events() == read_events(run, TRIAL)
        assert found.logs()["agent"]["stdout"].kept == b"seed 12001\n"
        assert (found.trial.trial_id, found.manifest.sha256) == (TRIAL, found.record["manifest_sha256"])


async def test_the_same_trial_gives_the_same_bytes_and_no_path_of_this_machine(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    first = bundle.read_bytes()
    await write_bundle(next((tmp_path / "runs").iterdir()), TRIAL, bundle, key=KEY)
    assert bundle.read_bytes() == first
    assert str(tmp_path).encode() not in first
    assert names(tmp_path) == ["failure.arci", "private", "project", "runs"]


async def test_a_trial_that_is_not_there_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no record of trial"):
        await write_bundle(process_run(tmp_path), "no:00000:candidate", tmp_path / "out.arci", key=KEY)
    assert not (tmp_path / "out.arci").exists()


async def test_a_process_run_has_no_images_to_refer_to(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no images"):
        await write_bundle(process_run(tmp_path), TRIAL, tmp_path / "out.arci", embed=False, key=KEY)
    assert names(tmp_path) == ["private", "project", "runs"]


@pytest.mark.parametrize("damage", ["record.json", "events.jsonl", "manifest.json", "logs/", "source.tar.zst"])
async def test_a_member_of_another_digest_is_refused(damage: str, tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    members = members_of(bundle)
    name = next(n for n in members if n.startswith(damage))
    members[name] = members[name][:-2] + bytes([members[name][-2] ^ 1]) + members[name][-1:]
    rebuild(bundle, members)
    assert "content is not of the digest" in refused(bundle)


async def test_members_and_their_list_must_agree(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    members = members_of(bundle)
    rebuild(bundle, {name: data for name, data in members.items() if not name.startswith("logs/")})
    assert "not those that bundle.json lists" in refused(bundle)
    rebuild(bundle, {**members, "logs/more": b""})
    assert "not those that bundle.json lists" in refused(bundle)
    rebuild(bundle, dict(sorted(members.items(), reverse=True)))
    assert "first member is not bundle.json" in refused(bundle)
    first, *rest = members.items()
    rebuild(bundle, dict([first, *reversed(rest)]))
    assert "not those that bundle.json lists" in refused(bundle)


def without(prefix: str) -> Callable[[Members], object]:
    return lambda members: [members.pop(name) for name in list(members) if name.startswith(prefix)]


def reseal_record(**changes: Any) -> Callable[[Members], object]:
    def edit(members: Members) -> None:
        record = {**json.loads(members["record.json"]), **changes}
        members["record.json"] = canonical(seal_record(record, record["previous_sha256"])) + b"\n"

    return edit


def reseal_manifest(**changes: Any) -> Callable[[Members], object]:
    def edit(members: Members) -> None:
        document = {**json.loads(members["manifest.json"]), **changes}
        members["manifest.json"] = canonical({**document, "record_sha256": manifest_sha256(document)}) + b"\n"

    return edit


def replaced(name: str, data: bytes) -> Callable[[Members], object]:
    return lambda members: members.update({name: data})


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (without("manifest.json"), "'manifest.json': is missing"),
        (without("record.json"), "'record.json': is missing"),
        (without("events.jsonl"), "'events.jsonl': is missing"),
        (without("logs/"), "agent.stdout.f003c094': is missing"),
        (without("source.tar.zst"), "a bundle holds images, or a source tree"),
        (without("distributions.json"), "a bundle holds images, or a source tree"),
        (replaced("logs/more", b"x"), "the record knows no such log"),
        (replaced("images/layers/" + "0" * 64 + ".tar.zst", b"x"), "layers and configurations are not those"),
        (replaced("images/configs/" + "0" * 64 + ".json", b"x"), "layers and configurations are not those"),
        (replaced("distributions.json", b"{}\n"), "is not what the manifest sealed"),
        (replaced("record.json", b"{}\n"), "is another than bundle.json names"),
        (replaced("record.json", b"[" * 100_000), "nested too deeply"),
        (replaced("record.json", b'{"a":1,"a":1}'), "not in canonical form"),
        (replaced("manifest.json", b"{}"), "this version reads 'arci.manifest/1'"),
        (replaced("manifest.json", b"["), "not valid JSON"),
        (replaced("manifest.json", b"[" * 100_000), "nested deeper"),
        (replaced("events.jsonl", b""), "does not hold the events"),
        (replaced("events.jsonl", b"{}"), "last line has no newline"),
        (replaced("events.jsonl", b"{ }\n"), "not in canonical form"),
        (replaced("events.jsonl", b'{"seq":0,"trial_id":"x"}\n'), "does not hold"),
        (lambda m: m.update({"events.jsonl": m["events.jsonl"] * 2}), "does not hold the events"),
        (lambda m: m.update({"events.jsonl": m["events.jsonl"].split(b"\n")[0] + b"\n"}), "does not hold the events"),
        (reseal_record(outcome="PASS"), "is another than bundle.json names"),
        (reseal_manifest(alpha=0.01), "is another than bundle.json names"),
    ],
)
async def test_parts_that_do_not_fit_are_refused(
    edit: Callable[[Members], object], reason: str, tmp_path: Path
) -> None:
    bundle = await process_bundle(tmp_path)
    forge(bundle, edit)
    assert reason in refused(bundle)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"outcome": "PASS"}, "does not follow from its contract"),
        ({"outcome": "MAYBE"}, "record cannot be used"),
        ({"seed": 7}, "seed differ from the manifest's"),
        ({"trial_sha256": "0" * 64}, "trial_sha256 differ from the manifest's"),
        ({"manifest_sha256": "0" * 64}, "manifest_sha256 differ"),
        ({"condition_id": "another"}, "plans no trial of that condition"),
        ({"index": 10**9}, "plans no trial of that condition"),
        ({"index": True}, "plans no trial of that condition"),
        ({"arm": "third"}, "no such arm"),
        ({"images": {}}, "it ran other images"),
        ({"injections": [{"fault_index": 9, "fault": "x"}]}, "record cannot be used"),
        ({"logs": {"agent": {"stdout": 7}}}, "description of the logs cannot be read"),
        (
            {"logs": {"agent": {"stdout": {"bytes": 2, "head_bytes": 2, "kept_sha256": "0" * 64}}}},
            "not what the record",
        ),
        ({"logs": {"../x": {"y": {"bytes": 2, "head_bytes": 2, "kept_sha256": "0" * 64}}}}, "is missing"),
        ({"recording": {"events": 0, "sha256": "0" * 64}}, "does not hold the events"),
    ],
)
async def test_a_record_that_was_sealed_by_other_hands_is_held_against_the_manifest(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    bundle = await process_bundle(tmp_path)
    forge(bundle, reseal_record(**changes))
    record = json.loads(members_of(bundle)["record.json"])
    forge(bundle, record_sha256=record["record_sha256"])
    assert reason in refused(bundle)


async def test_an_endless_plan_is_not_planned_out(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    forge(bundle, reseal_manifest(n_per_arm=10**12))
    document = json.loads(members_of(bundle)["manifest.json"])
    index = {"index": 10**11, "pair_id": f"reserve-timeout:{10**11}", "trial_id": f"reserve-timeout:{10**11}:candidate"}
    forge(bundle, reseal_record(**index, manifest_sha256=document["record_sha256"]))
    record = json.loads(members_of(bundle)["record.json"])
    forge(bundle, manifest_sha256=document["record_sha256"], record_sha256=record["record_sha256"])
    assert "plans no trial of that condition and index" in refused(bundle)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"format": "arci.bundle/9"}, "this version reads 'arci.bundle/1'"),
        ({"more": 1}, "Extra inputs are not permitted"),
        ({"trial_id": "reserve-timeout:00000:candidate"}, "does not say what manifest and record say"),
        ({"arm": "baseline"}, "does not say what manifest and record say"),
        ({"arm": "third"}, "bundle.json: arm"),
        ({"agent": "command"}, "does not say what manifest and record say"),
        ({"isolation": "docker"}, "does not say what manifest and record say"),
        ({"runtime_sha256": "0" * 64}, "does not say what manifest and record say"),
        ({"source_root": None}, "a bundle holds images, or a source tree"),
        ({"source_bytes": -1}, "bundle.json: source_bytes"),
        ({"members": []}, "not those that bundle.json lists"),
        ({"members": [{"name": "x", "sha256": "0" * 64 + "\n", "bytes": 0}]}, "members.0.sha256"),
        ({"experiment_id": 7}, "bundle.json: experiment_id"),
    ],
)
async def test_what_a_bundle_says_of_itself_is_checked(document: dict[str, Any], reason: str, tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    forge(bundle, **document)
    assert reason in refused(bundle)


@pytest.mark.parametrize("data", [b"", b"[]\n", b"\xff\n", b'{"format":"arci.bundle/1"} \n', b"[" * 9999 + b"\n"])
async def test_a_document_that_is_none_is_refused(data: bytes, tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    rebuild(bundle, {**members_of(bundle), "bundle.json": data})
    assert "bundle.json: " in refused(bundle)


async def test_bounds_hold_for_the_writer_and_the_reader_alike(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    run = next((tmp_path / "runs").iterdir())
    for change, reason in (
        ({"json_bytes": 1000}, "bytes; 1000 are allowed"),
        ({"members": 3}, "3"),
        ({"log_bytes": 5}, "5 are allowed"),
        ({"source_bytes": 100}, "100"),
    ):
        tight = smaller(DEFAULT_BOUNDS, **change)
        with pytest.raises(BundleError, match=reason):
            await write_bundle(run, TRIAL, tmp_path / "second.arci", key=KEY, bounds=tight)
        assert not (tmp_path / "second.arci").exists()
        if "source_bytes" not in change:  # looked at when it is unpacked
            with pytest.raises(BundleError), read_bundle(bundle, tight):
                pass


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, reason in ((fifo, "no regular file"), (tmp_path, "no regular file"), (tmp_path / "x", "No such file")):
        assert reason in refused(path)


async def test_a_file_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "out.arci"
    with pytest.raises(BundleError, match=str(out)):
        await write_bundle(process_run(tmp_path), TRIAL, out, key=KEY)
