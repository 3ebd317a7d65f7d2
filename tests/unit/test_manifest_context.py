"""Build contexts and source identities: what is in, what never is, and that only content counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arci.manifest.context import Ignore, context_files
from arci.manifest.identity import distributions, interpreter, process_images, source_identity


def tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return root


def names(root: Path) -> list[str]:
    return [relative for relative, _ in context_files(root)]


def test_what_must_never_travel_stays_out(tmp_path: Path) -> None:
    tree(tmp_path, "app.py", "b/c.py", ".git/config", "b/.git", ".env", "b/.env", "runs/x/trials.jsonl", "b/runs/kept")
    tree(tmp_path, "b/__pycache__/c.pyc", "d.pyc", ".venv/bin/python", "environment")
    assert names(tmp_path) == ["app.py", "b/c.py", "b/runs/kept", "environment"]


def test_an_ignore_file_cannot_bring_a_secret_back(tmp_path: Path) -> None:
    tree(tmp_path, ".env", "a")
    (tmp_path / ".dockerignore").write_text("!.env\n", encoding="utf-8")
    assert names(tmp_path) == [".dockerignore", "a"]


def test_the_order_is_that_of_the_relative_paths(tmp_path: Path) -> None:
    assert names(tree(tmp_path, "b/a", "b-a", "B", "a")) == ["B", "a", "b-a", "b/a"]


def test_an_ignored_dockerfile_still_reaches_the_builder(tmp_path: Path) -> None:
    tree(tmp_path, "Dockerfile", "a")
    (tmp_path / ".dockerignore").write_text("*\n", encoding="utf-8")
    assert names(tmp_path) == [".dockerignore", "Dockerfile"]


def test_links_are_listed_and_never_followed_and_pipes_stay_out(tmp_path: Path) -> None:
    inside = tree(tmp_path / "in", "a")
    outside = tree(tmp_path / "out", "secret")
    (inside / "link").symlink_to(outside)
    (inside / "dangling").symlink_to("nowhere")
    os.mkfifo(inside / "pipe")
    assert names(inside) == ["a", "dangling", "link"]


@pytest.mark.parametrize(
    ("patterns", "out", "kept"),
    [
        (["*.log"], ["a.log"], ["d/a.log", "a.logs"]),
        (["**/*.log"], ["a.log", "d/e/a.log"], ["a.txt"]),
        (["docs"], ["docs", "docs/a/b"], ["docs2", "a/docs"]),
        (["/docs/"], ["docs/a"], ["a/docs"]),
        (["docs/**"], ["docs/a", "docs/a/b"], ["docs", "adocs"]),
        (["a/**/z"], ["a/z", "a/b/c/z"], ["a/bz"]),
        (["*", "!keep"], ["other"], ["keep", "keep/x"]),
        (["docs", "!docs/README.md"], ["docs/a"], ["docs/README.md"]),
        (["!a", "a"], ["a"], []),
        (["# a", "", "  ", "."], [], ["# a", "a"]),
        (["te?t", "[ab].c", "[^x]y"], ["test", "a.c", "zy"], ["tet", "c.c", "xy", "te/t", "/y"]),
        (["A"], ["A"], ["a"]),
        ([r"\*x", r"\[y"], ["*x", "[y"], ["ax", "y"]),
        (["a.c", "$x", "(b)"], ["a.c", "$x", "(b)"], ["abc", "x", "b"]),
        (["[", "[z-a]", "[a--b]", "[[a]", "[]"], ["["], ["q"]),
        (["../a", "b/../c", "./d//e"], ["a", "c", "d/e"], ["b"]),
    ],
)
def test_ignore_patterns_mean_what_docker_means(patterns: list[str], out: list[str], kept: list[str]) -> None:
    ignore = Ignore(patterns)
    assert [path for path in out if not ignore.matches(path)] == []
    assert [path for path in kept if ignore.matches(path)] == []


def test_a_file_within_an_ignored_directory_can_be_kept(tmp_path: Path) -> None:
    tree(tmp_path, "docs/README.md", "docs/deep/x", "a")
    (tmp_path / ".dockerignore").write_text("docs\n!docs/README.md\n", encoding="utf-8")
    assert names(tmp_path) == [".dockerignore", "a", "docs/README.md"]


def test_an_identity_is_the_content_and_not_the_place_or_time(tmp_path: Path) -> None:
    first, second = tree(tmp_path / "x", "a", "b/c"), tree(tmp_path / "y", "a", "b/c")
    os.utime(second / "a", (1, 1))
    tree(second, "runs/later", "__pycache__/a.pyc")
    assert source_identity(first) == source_identity(second)
    assert source_identity(first)["files"] == 2


@pytest.mark.parametrize("change", ["content", "name", "more", "mode", "link"])
def test_any_change_of_content_is_another_identity(tmp_path: Path, change: str) -> None:
    before = source_identity(tree(tmp_path, "a", "b"))["sha256"]
    if change == "content":
        (tmp_path / "a").write_text("other", encoding="utf-8")
    elif change == "name":
        (tmp_path / "a").rename(tmp_path / "c")
    elif change == "more":
        tree(tmp_path, "c")
    elif change == "mode":
        (tmp_path / "a").chmod(0o755)
    else:
        (tmp_path / "a").unlink()
        (tmp_path / "a").symlink_to("b")
    assert source_identity(tmp_path)["sha256"] != before


def test_a_file_name_need_not_be_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("x", encoding="utf-8")
    assert source_identity(tmp_path)["files"] == 1


def test_process_identities_name_trees_interpreter_and_distributions(tmp_path: Path) -> None:
    tree(tmp_path, "one/a", "two/a")
    images = process_images(tmp_path, {"baseline": "one", "candidate": "two", "project": "."})
    assert images["baseline"] == source_identity(tmp_path / "one")
    assert images["project"]["files"] == 2
    assert images["interpreter"] == interpreter()
    assert [name for name, _ in distributions() if name == "pydantic"] == ["pydantic"]
    assert images["distributions"] == sorted(images["distributions"])
