"""Source trees in bundles of process runs: what was packed comes back exactly, and nothing lands outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from bundles import KEY, TRIAL, forge, members_of, process_bundle, process_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arci.bundle.read import read_bundle
from arci.bundle.refusal import BundleError
from arci.bundle.source import INDEX, Tree, check_paths
from arci.bundle.tar import write_members
from arci.bundle.write import write_bundle
from arci.manifest.identity import source_identity
from arci.model.canonical import canonical, digest_bytes

pytestmark = pytest.mark.anyio


def extracted(bundle: Path, directory: Path) -> Path:
    directory.mkdir()
    with read_bundle(bundle) as found:
        return found.extract_source(directory)


async def test_files_links_and_execute_bits_come_back(tmp_path: Path) -> None:
    root = extracted(await process_bundle(tmp_path), tmp_path / "out")
    project = tmp_path / "project"
    assert source_identity(root) == source_identity(project)
    assert (root / "agents" / "run.py").stat().st_mode & 0o111
    assert (root / "agents" / "world.py").read_text() == "STOCK = 10\n"


async def test_trees_beside_and_above_the_descriptor_keep_their_places(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "old.py").write_text("old\n")
    sources = {"baseline": "../shared", "candidate": "agents", "project": "."}
    (tmp_path / "project" / "agents").mkdir(parents=True)
    (tmp_path / "project" / "agents" / "new.py").write_text("new\n")
    root = extracted(await process_bundle(tmp_path, sources), tmp_path / "out")
    assert (root / "../shared/old.py").read_text() == "old\n"
    assert (root / "agents/new.py").read_text() == "new\n"


async def test_what_never_travels_is_not_in_a_bundle(tmp_path: Path) -> None:
    """N50: a file of secrets beside the code stays where it is."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "world.py").write_text("x\n")
    (project / ".env").write_text("KEY=hunter2-hunter2\n")
    root = extracted(await process_bundle(tmp_path), tmp_path / "out")
    assert [path.name for path in root.iterdir()] == ["world.py"]


async def test_a_tree_that_changed_since_the_run_is_refused(tmp_path: Path) -> None:
    run = process_run(tmp_path)
    (tmp_path / "project" / "world.py").write_text("STOCK = 11\n")
    with pytest.raises(BundleError, match="is not what was sealed; the sources that ran are required"):
        await write_bundle(run, TRIAL, tmp_path / "out.arci", key=KEY)


async def test_a_link_out_of_the_tree_cannot_be_bundled(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "passwords").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match="'passwords' leaves the tree"):
        await process_bundle(tmp_path)


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.dictionaries(
        NAMES.filter(lambda name: name not in (".", "..", "runs", ".dockerignore") and len(name.encode()) < 250),
        st.binary(max_size=200),
        max_size=5,
    )
)
async def test_any_names_and_contents_come_back(
    contents: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("any")
    (tmp_path / "project" / "kept").mkdir(parents=True)
    for name, data in contents.items():
        (tmp_path / "project" / "kept" / name).write_bytes(data)
    root = extracted(await process_bundle(tmp_path), tmp_path / "out")
    assert source_identity(root) == source_identity(tmp_path / "project")


async def test_names_that_are_no_text_come_back(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "caf\udce9.py").write_text("x\n")
    root = extracted(await process_bundle(tmp_path), tmp_path / "out")
    assert [path.name for path in root.iterdir()] == ["caf\udce9.py"]


SHA = digest_bytes(b"hello")


async def hostile(tmp_path: Path, index: Any, *contents: bytes, names: tuple[str, ...] = ()) -> Path:
    """A bundle whose source tree was made by somebody who can seal everything else."""
    bundle = await process_bundle(tmp_path)
    data = index if isinstance(index, bytes) else canonical(index)
    members = [(INDEX, data), *zip(names or [f"files/{digest_bytes(c)}" for c in contents], contents, strict=True)]
    tar = tmp_path / "hostile.tar"
    with tar.open("wb") as out:
        write_members(out, ((name, len(content), (content,)) for name, content in members))
    packed = zstandard.compress(tar.read_bytes())
    forge(bundle, lambda found: found.update({"source.tar.zst": packed}), source_bytes=tar.stat().st_size)
    return bundle


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def files(**entries: Any) -> dict[str, Any]:
    return {"files": {name: [SHA, False] for name in entries.pop("paths", ())}, "links": {}, **entries}


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        ({"files": {"../x": [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"a/../../x": [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"/etc/x": [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"a//x": [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"": [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"a\0b": [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"n" * 256: [SHA, False]}, "links": {}}, "a plain relative path is allowed"),
        ({"files": {"a": [SHA, False], "a/b": [SHA, False]}, "links": {}}, "lies below a file or a link"),
        ({"files": {"a/b": [SHA, False]}, "links": {"a": "/etc"}}, "lies below a file or a link"),
        ({"files": {"a": [SHA, False]}, "links": {"a": "b"}}, "a file and a link at once"),
        ({"files": {"f": [SHA, False]}, "links": {"a": "/etc/passwd"}}, "leaves the tree"),
        ({"files": {"f": [SHA, False]}, "links": {"a": ".."}}, "leaves the tree"),
        ({"files": {"f": [SHA, False]}, "links": {"d/a": "../../x"}}, "leaves the tree"),
        ({"files": {"f": [SHA, False]}, "links": {"l": ".", "a": "l/../.."}}, "leaves the tree"),
        ({"files": {"f": [SHA, False]}, "links": {"a": ""}}, "leaves the tree"),
        ({"files": {"f": ["0" * 64, False]}, "links": {}}, "does not name the files that are there"),
        ({"files": {}, "links": {}}, "does not name the files that are there"),
        ({"files": {"f": [SHA, False]}, "links": {}}, "is not what was sealed"),
        ({"files": {"f": SHA}, "links": {}}, "index cannot be read"),
        ({"files": {"f": [7, False]}, "links": {}}, "index cannot be read"),
        ({"files": [], "links": {}}, "index cannot be read"),
        ({"files": {"f": [SHA, False]}, "links": {"a": 7}}, "index cannot be read"),
        (b"{", "index cannot be read"),
        (b"[" * 100_000, "index cannot be read"),
    ],
)
async def test_a_hostile_tree_writes_nothing_outside(index: Any, reason: str, tmp_path: Path) -> None:
    """N43: links last, so nothing is written through one; and none leads out."""
    bundle = await hostile(tmp_path, index, b"hello")
    with pytest.raises(BundleError, match=reason):
        extracted(bundle, tmp_path / "out")
    assert names(tmp_path) == ["failure.arci", "hostile.tar", "out", "project", "runs"]
    assert names(tmp_path / "out") == (["f"] if "sealed" in reason else [])


async def test_a_content_under_anothers_digest_is_refused(tmp_path: Path) -> None:
    bundle = await hostile(tmp_path, files(paths=("f",)), b"other", names=(f"files/{SHA}",))
    with pytest.raises(BundleError, match="is not of that digest"):
        extracted(bundle, tmp_path / "out")


async def test_a_content_named_often_enough_to_fill_a_disk_is_refused(tmp_path: Path) -> None:
    big = b"\0" * (1 << 20)
    index = {"files": {f"f{n}": [digest_bytes(big), False] for n in range(1100)}, "links": {}}
    bundle = await hostile(tmp_path, index, big)
    with pytest.raises(BundleError, match="unpacks to more than 1073741824 bytes"):
        extracted(bundle, tmp_path / "out")
    assert names(tmp_path / "out") == []


@pytest.mark.parametrize("source", ["../..", "/etc", "x/../../.."])
async def test_a_manifest_whose_sources_lie_outside_the_tree_is_refused(source: str, tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    with read_bundle(bundle) as found:
        document = {**found.manifest_document, "project_source": source}
        object.__setattr__(found, "manifest", type(found.manifest).from_document(document))
        (tmp_path / "out").mkdir()
        with pytest.raises(BundleError, match="lies outside the source tree"):
            found.extract_source(tmp_path / "out")


async def test_a_root_outside_the_tree_is_refused(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    forge(bundle, source_root="../elsewhere")
    with pytest.raises(BundleError, match="lies outside the source tree"):
        extracted(bundle, tmp_path / "out")


async def test_a_bomb_in_the_place_of_a_tree_is_stopped_by_what_it_says_and_by_what_it_is(tmp_path: Path) -> None:
    bundle = await process_bundle(tmp_path)
    bomb = zstandard.compress(bytes(300 << 20))
    for said, reason in ((300 << 20, "unpack to 314572800"), (1 << 60, "source_bytes"), (4096, "more than the 4096")):
        forge(bundle, lambda found: found.update({"source.tar.zst": bomb}), source_bytes=said)
        with pytest.raises(BundleError, match=reason):
            extracted(bundle, tmp_path / f"out{said}")


async def test_the_lock_data_are_those_of_the_seal(tmp_path: Path) -> None:
    members = members_of(await process_bundle(tmp_path))
    found = json.loads(members["distributions.json"])
    sealed = json.loads(members["manifest.json"])["images"]
    assert found == {name: sealed[name] for name in ("distributions", "interpreter")}
    assert any(name == "pytest" for name, _ in found["distributions"])


def test_links_that_stay_inside_are_allowed() -> None:
    check_paths(Tree({"a/f": (SHA, False)}, {"a/l": "f", "b/c/l": "../../a/f", "d": "./a/", "e": "nowhere"}))
