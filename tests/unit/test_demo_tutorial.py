"""The tutorial, typed from its second section to its end, without the section that needs an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import files
from tutorial import IN_CONTAINERS, INSTALL, SECTIONS, Typist, lines_of

from arci.isolation.process.native import find_init

pytestmark = [
    pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine"),
    pytest.mark.timeout(900),
]


def test_the_tutorial_goes_as_it_is_written(tmp_path: Path) -> None:
    typist = Typist(tmp_path, {"XDG_DATA_HOME": str(tmp_path / "data")})
    for heading in SECTIONS:
        if heading in (INSTALL, IN_CONTAINERS):
            continue
        if heading == "4. A bad day":
            typist.edit(heading)
        typist.type(heading)
        for name, text in files(SECTIONS[heading]).items():
            assert (typist.place / name).read_text(encoding="utf-8") == text
    assert (typist.place / "runs" / "pay-order.1").is_dir()


def test_every_line_of_the_tutorial_is_in_a_section_that_is_typed() -> None:
    headings = [heading for heading in SECTIONS if lines_of(heading)]
    assert [heading[:2] for heading in headings] == [f"{number}." for number in range(1, 10)]
    assert {INSTALL, IN_CONTAINERS} < set(headings)


def test_another_exit_code_than_the_page_states_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECTIONS, "x", "```sh\nfalse\n```\n")
    with pytest.raises(AssertionError, match="false"):
        Typist(tmp_path).type("x")


def test_a_line_that_the_page_shows_and_nobody_wrote_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS, "x", "```sh\necho one; exit 3 # exit 3\n```\n\n```text\none\ntwo\n```\n")
    with pytest.raises(AssertionError, match="two"):
        Typist(tmp_path).type("x")
