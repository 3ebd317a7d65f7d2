"""Who made a bundle, what is in it, and what a replay makes of its wishes."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundles import KEY, TRIAL, docker_bundle, document_of, forge, members_of, process_bundle, process_run
from runs import manifest_document
from trials import shell_arms

from arci.bundle.contents import contents
from arci.bundle.neutral import neutralised, own_isolation
from arci.bundle.read import read_bundle
from arci.bundle.trust import Key, key_path, made_here, own_key
from arci.bundle.write import write_bundle
from arci.errors import StoreError
from arci.model.manifest import Manifest

pytestmark = pytest.mark.anyio


async def test_a_bundle_of_ones_own_is_known_and_a_changed_one_is_not(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    document = document_of(bundle)
    assert made_here(document, KEY)
    assert not made_here(document, None)
    assert not made_here(document, Key(b"x" * 32))
    forge(bundle, arci_version="9.9.9")
    assert not made_here(document_of(bundle), KEY)


async def test_the_makers_id_alone_proves_nothing(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    stranger = Key(b"x" * 32)
    document = document_of(bundle)
    signed = {"key_id": KEY.id, "signature": stranger.signature(document.signed())}
    forge(bundle, made_by=signed)
    assert not made_here(document_of(bundle), KEY)


async def test_no_key_is_in_a_bundle(tmp_path: Path) -> None:
    assert KEY.secret not in (await process_bundle(tmp_path)).read_bytes()
    assert "secret" not in repr(KEY)


def test_the_key_lies_with_the_users_data() -> None:
    home = Path("/home/ada")
    assert key_path({}, home) == home / ".local/share/arci/bundle.key"
    assert key_path({"XDG_DATA_HOME": "/data"}, home) == Path("/data/arci/bundle.key")
    assert key_path({"XDG_DATA_HOME": "relative"}, home) == home / ".local/share/arci/bundle.key"


def test_a_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "bundle.key"
    assert own_key(path, make=False) is None
    key = own_key(path)
    assert key is not None
    assert own_key(path) == own_key(path, make=False) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["bundle.key"]


async def test_the_users_own_key_signs_where_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    document = await write_bundle(process_run(tmp_path), TRIAL, tmp_path / "x.arci")
    assert made_here(document, own_key(tmp_path / "data/arci/bundle.key", make=False))
    assert contents(tmp_path / "x.arci")["made_by"]["is_own"] is True


@pytest.mark.parametrize("trouble", ["readable by others", "short", "a link", "a pipe"])
def test_a_key_that_proves_nothing_is_refused(trouble: str, tmp_path: Path) -> None:
    path = tmp_path / "bundle.key"
    if trouble == "a pipe":
        os.mkfifo(path, 0o600)
    elif trouble == "a link":
        (tmp_path / "elsewhere").write_bytes(b"k" * 32)
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_bytes(b"k" * (31 if trouble == "short" else 32))
        path.chmod(0o644 if trouble == "readable by others" else 0o600)
    with pytest.raises(StoreError, match=r"bundle\.key"):
        own_key(path)


async def test_contents_tell_what_would_run_before_it_does(tmp_path: Path) -> None:
    arms = shell_arms("./agent", "--fast", env={"MODE": "x"}, secret_env={"TOKEN": "API_KEY"})
    bundle = await docker_bundle(tmp_path, arms=arms, secrets=["API_KEY"])
    found = contents(bundle, key=KEY)
    assert found["runs"] == [
        {"role": "agent", "ref": None, "argv": ["./agent", "--fast"], "env": ["MODE", "TOKEN"]},
        {"role": "grader", "ref": "world:oracle", "argv": [], "env": []},
    ]
    assert (found["trial"]["trial_id"], found["trial"]["outcome"], found["trial"]["faults"]) == (
        TRIAL,
        "FAIL",
        ["tool_timeout"],
    )
    agent = found["images"]["candidate"]
    assert (agent["cmd"], agent["layers"], agent["platform"]) == (["/agent"], 2, "linux/amd64")
    assert agent["bytes"] > agent["packed_bytes"] > 0
    assert found["logs"] == [{"role": "agent", "stream": "stdout", "bytes": 11}]
    assert found["made_by"] == {"key_id": KEY.id, "is_own": True}
    assert found["bytes"] == bundle.stat().st_size
    json.dumps(found)


async def test_strangers_bundles_are_told_apart(tmp_path: Path) -> None:
    assert contents(await process_bundle(tmp_path), key=Key(b"x" * 32))["made_by"]["is_own"] is False


def wishful(**isolation: Any) -> Manifest:
    wished = {"runtime": "evil", "user": "0", "read_only": False, "caps": ["ALL"], "allow_unenforced": True}
    wished |= {"memory_bytes": 1 << 50, "pids": 1_000_000, "files": 1 << 20, "cpus": 64.0, "platform": "linux/riscv64"}
    own = {**manifest_document()["isolation"], "backend": "docker", **wished, **isolation}
    arms = shell_arms("./agent", env={"A": "b"}, secret_env={"TOKEN": "AWS_SECRET_ACCESS_KEY"})
    document = manifest_document(
        isolation=own, arms=arms, secrets=["AWS_SECRET_ACCESS_KEY"], volatile={"root": "/", "image_refs": {"x": "y"}}
    )
    return Manifest.from_document(document)


def test_a_replay_keeps_to_its_own_hardening() -> None:
    manifest = wishful()
    found = neutralised(manifest, volatile={"root": "/tmp/private"})
    own = own_isolation("docker")
    assert found.isolation == replace(own, cpus=64.0)
    assert (found.isolation.caps, found.isolation.runtime, found.isolation.user) == ((), None, None)
    assert (found.isolation.read_only, found.isolation.memory_bytes) == (True, 512 << 20)
    assert found.volatile == {"root": "/tmp/private"}
    assert neutralised(manifest).volatile == {}


def test_limits_below_ones_own_still_hold_and_others_can_be_allowed() -> None:
    """An agent that ran out of memory is to run out of it again."""
    low = neutralised(wishful(memory_bytes=64 << 20, pids=8, cpus=0.5)).isolation
    assert (low.memory_bytes, low.pids, low.cpus, low.caps) == (64 << 20, 8, 0.5, ())
    nonsense = neutralised(wishful(memory_bytes=-5, cpus=-1.0)).isolation
    assert (nonsense.memory_bytes, nonsense.cpus) == (1, None)
    more = neutralised(wishful(), own=replace(own_isolation("docker"), memory_bytes=4 << 30)).isolation
    assert (more.memory_bytes, more.read_only) == (4 << 30, True)


def test_no_variable_of_this_host_reaches_an_agent() -> None:
    """The agent gets what stands in the record in the secret's place, so its calls read as recorded."""
    found = neutralised(wishful())
    assert found.secrets == ()
    for arm in found.arms.values():
        assert arm.secret_env == {}
        assert arm.env == {"A": "b", "TOKEN": "<secret:AWS_SECRET_ACCESS_KEY>"}


def test_what_decides_is_left_alone() -> None:
    manifest = wishful()
    found = neutralised(manifest)
    for name in (
        "tasks",
        "environment",
        "contract",
        "grader",
        "conditions",
        "budgets",
        "images",
        "sha256",
        "base_seed",
    ):
        assert getattr(found, name) == getattr(manifest, name)


async def test_a_bundle_is_a_tar_that_any_tool_lists(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    assert next(iter(members_of(bundle))) == "bundle.json"
    with read_bundle(bundle) as found:
        assert set(members_of(bundle)) == set(found.archive.members)
