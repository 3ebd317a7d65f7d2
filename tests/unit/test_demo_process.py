"""`arci demo` as it stands, with local processes; and every command that it tells, typed where it says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from docs_pages import blocks, page
from e2e import call
from played import Played, played

from arci.isolation.process.native import find_init

pytestmark = [
    pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine"),
    pytest.mark.timeout(900),
]

EXIT_CODES = {"trace-check": 0, "triage": 1, "diff": 1, "minimize": 0, "bundle": 0, "replay": 0, "try": 0}
INCONCLUSIVE = 2
FEW = 8
"""Trials of a command that is typed again: enough that the fault is met, and few to wait for."""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return played(tmp_path_factory)


@pytest.fixture
def copy(story: Played, tmp_path: Path) -> Path:
    """Its directory, to be changed."""
    return Path(shutil.copytree(story.directory, tmp_path / "new"))


def test_all_six_steps_hold(story: Played) -> None:
    assert story.ended.exit_code == 0, story.ended
    steps = [line for line in story.ended.stdout.splitlines() if line[:1].isdigit()]
    assert [line[:2] for line in steps] == ["1.", "2.", "3.", "4.", "5.", "6."]
    assert all(line.endswith(": holds") for line in steps)


def test_the_readme_shows_what_it_prints(story: Played) -> None:
    _, shown = [block.text for block in blocks(page("README.md"), "text")]
    real = {line.rstrip() for line in story.ended.stdout.splitlines()}
    assert [line for line in shown.splitlines() if line not in ("...", "") and line.rstrip() not in real] == []


def test_every_command_that_it_tells_does_the_same_again(
    story: Played, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(copy)
    monkeypatch.setenv("XDG_DATA_HOME", str(story.home))
    commands = list(story.commands())
    for words in (words for words in commands if words[0] != "run"):
        assert call(capsys, *words).exit_code == EXIT_CODES[words[0]], words
    for words in (words for words in commands if words[0] == "run"):
        again = call(capsys, *words, "--force", "--n", FEW)
        assert again.exit_code == INCONCLUSIVE, again
    assert {words[0] for words in commands} == {"run", *EXIT_CODES}
