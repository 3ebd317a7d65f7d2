"""Evidence: patterns, and an archive that an agent made to do harm."""

from __future__ import annotations

import io
import tarfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.run import evidence as module
from arci.run.evidence import Evidence, EvidenceRefused, fetch_paths, matches, read_archive


def tar(*members: tuple[str, bytes | dict[str, Any]], **kind: Any) -> bytes:
    """An archive of (name, content) or (name, attributes of the entry)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind.get("format", tarfile.GNU_FORMAT)) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
            else:
                for key, value in content.items():
                    setattr(entry, key, value)
                archive.addfile(entry)
    return buffer.getvalue()


def read(data: bytes, fetched: str = ".", patterns: tuple[str, ...] = ("**",)) -> Evidence:
    evidence = Evidence()
    read_archive(data, fetched, patterns, evidence)
    return evidence


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("report.md", "report.md", True),
        ("./report.md", "report.md", True),
        ("*.txt", "a.txt", True),
        ("*.txt", "d/a.txt", False),
        ("**/*.txt", "a.txt", True),
        ("**/*.txt", "d/e/a.txt", True),
        ("out", "out/x/y", True),
        ("out", "outer", False),
        ("out/**", "out/a/b", True),
        ("o?t/[!a]*", "out/bc", True),
        ("o?t/[!a]*", "out/ac", False),
        ("o[/]t", "o/t", False),
        ("a[z-a]", "a[z-a]", True),
        ("a+b(", "a+b(", True),
        ("a[\\]x", "a\\x", True),
        ("[", "[", True),
    ],
)
def test_a_pattern_names_files_and_the_directories_above_them(pattern: str, path: str, expected: bool) -> None:
    assert matches([pattern], path) is expected


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_a_pattern(pattern: str, path: str) -> None:
    assert matches([pattern], path) in (True, False)


def test_only_what_stands_before_a_wildcard_is_fetched_and_nothing_twice() -> None:
    assert fetch_paths(["out/*.json", "out", "a/b/c.txt", "a/*", "r.md"]) == ["out", "a", "r.md"]
    assert fetch_paths(["**/*.x", "out/y"]) == ["."]


def test_files_are_named_below_the_workdir_whatever_was_fetched() -> None:
    assert read(tar(("./a.txt", b"1"), ("./d/b.txt", b"2"))).files == {"a.txt": b"1", "d/b.txt": b"2"}
    assert read(tar(("b", {"type": tarfile.DIRTYPE}), ("b/c.txt", b"3")), "a/b", ("a/b/*",)).files == {
        "a/b/c.txt": b"3"
    }
    assert read(tar(("c.txt", b"4")), "a/c.txt", ("a/c.txt",)).files == {"a/c.txt": b"4"}
    assert read(tar(("./x.txt", b"1"), ("./y.md", b"2")), ".", ("*.md",)).files == {"y.md": b"2"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.LNKTYPE, "linkname": "../../etc/passwd"},
        {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3},
        {"type": tarfile.BLKTYPE, "devmajor": 8},
        {"type": tarfile.FIFOTYPE},
    ],
)
def test_links_and_special_files_are_left_out_and_said(attributes: dict[str, Any]) -> None:
    evidence = read(tar(("./good.txt", b"good"), ("./bad", attributes)))
    assert evidence.files == {"good.txt": b"good"}
    assert evidence.left_out[0].startswith("bad: ")


def test_a_file_below_a_link_is_the_archives_own_bytes() -> None:
    link = ("./d", {"type": tarfile.SYMTYPE, "linkname": "/etc"})
    assert read(tar(link, ("./d/passwd", b"mine"))).files == {"d/passwd": b"mine"}


@pytest.mark.parametrize(
    "members",
    [
        [("../out.txt", b"x")],
        [("./a/../../out.txt", b"x")],
        [("/etc/passwd", b"x")],
        [("./a.txt", b"x"), ("a.txt", b"y")],
        [("./a.txt", b"x"), ("./a.txt", {"type": tarfile.SYMTYPE, "linkname": "/x"})],
    ],
    ids=["parent", "parent within", "absolute", "twice", "twice as a link"],
)
def test_an_archive_that_no_honest_agent_makes_is_refused(members: list[Any]) -> None:
    with pytest.raises(EvidenceRefused):
        read(tar(*members))


def test_caps_hold_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = tarfile.TarInfo("./sparse")
    huge.size = 1 << 40  # a header that promises a tebibyte; no content follows
    with pytest.raises(EvidenceRefused, match="1099511627776 bytes"):
        read(huge.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    monkeypatch.setattr(module, "MOST_MEMBERS", 3)
    with pytest.raises(EvidenceRefused, match="entries"):
        read(tar(*((f"./{n}", b"") for n in range(4))), patterns=("nothing",))
    monkeypatch.setattr(module, "MOST_FILES", 2)
    with pytest.raises(EvidenceRefused, match="3 files"):
        read(tar(*((f"./{n}", b"") for n in range(3))))
    monkeypatch.setattr(module, "MOST_TOTAL_BYTES", 10)
    with pytest.raises(EvidenceRefused, match="11 bytes"):
        read(tar(("./a", b"x" * 6), ("./b", b"x" * 5)))


def test_a_declared_large_file_is_refused_and_an_undeclared_one_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILE_BYTES", 4)
    data = tar(("./big", b"12345"), ("./ok", b"1"))
    assert read(data, patterns=("ok",)).files == {"ok": b"1"}
    with pytest.raises(EvidenceRefused, match="big has 5 bytes"):
        read(data)


@given(st.binary(max_size=2048))
def test_no_bytes_do_anything_but_refuse_or_fail_to_be_an_archive(data: bytes) -> None:
    try:
        read(data)
    except (EvidenceRefused, tarfile.TarError):
        return


def test_text_goes_as_text_and_the_rest_as_base64() -> None:
    evidence = Evidence({"b.bin": b"\xff", "a.txt": "ü".encode()})
    assert evidence.for_grader() == {"a.txt": {"text": "ü"}, "b.bin": {"base64": "/w=="}}
    record = evidence.for_record()
    assert record["files"]["a.txt"]["bytes"] == 2
    assert record["sha256"] != Evidence({"a.txt": "ü".encode()}).for_record()["sha256"]
