"""`arci init --langchain`: it writes the example under another name, all of it or nothing, and the wheel carries it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from docs_pages import ROOT
from e2e import EXAMPLES, call

from arci.manifest.descriptor import load_descriptor
from arci.scaffold.langchain import FILES

EXAMPLE = EXAMPLES / "langchain_retry"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_folder_is_the_example_under_its_own_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "init", "--langchain", "shop")
    assert (ended.exit_code, ended.stderr) == (0, "")
    written = {str(p.relative_to(place / "shop")): p.read_text() for p in (place / "shop").rglob("*") if p.is_file()}
    shown = {name: (EXAMPLE / name).read_text() for name in FILES}
    assert written.pop("arci.yaml") == shown.pop("arci.yaml").replace(
        "experiment_id: langchain-retry", "experiment_id: shop"
    )
    assert written == shown
    assert load_descriptor("shop/arci.yaml").experiment_id == "shop"
    assert "python shop/run.py" in ended.stdout


def test_all_of_the_example_but_its_page_is_written() -> None:
    there = {str(p.relative_to(EXAMPLE)) for p in EXAMPLE.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert there - {"README.md"} == set(FILES)


def test_a_name_that_yaml_takes_for_something_else_is_quoted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "init", "--langchain", "1.0").exit_code == 0
    assert load_descriptor("1.0/arci.yaml").experiment_id == "1.0"


@pytest.mark.parametrize("words", [("--toolset", "a:b"), ("--command", "agent"), ("--task", "{}")])
def test_it_stands_alone(words: tuple[str, str], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "init", "--langchain", "shop", *words)
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert "--langchain" in ended.stderr
    assert not list(place.iterdir())


def test_what_is_there_stays_unless_force_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "shop").mkdir()
    (place / "shop" / "run.py").write_text("mine\n")
    assert call(capsys, "init", "--langchain", "shop").exit_code == 64
    assert [path.name for path in (place / "shop").iterdir()] == ["run.py"]
    assert call(capsys, "init", "--langchain", "shop", "--force").exit_code == 0
    assert (place / "shop" / "run.py").read_text() == (EXAMPLE / "run.py").read_text()


def test_the_wheel_carries_the_example() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["examples/langchain_retry"] == "arci/_examples/langchain_retry"
