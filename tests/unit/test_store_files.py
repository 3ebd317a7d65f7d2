"""Appends, replacement, locks and the cutting of torn lines."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from runs import make_run

from arci.errors import StoreError
from arci.model.canonical import canonical
from arci.store.files import AppendFile, Lock, replace_file
from arci.store.lines import read_lines


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow beyond `size` within: the next byte is an OSError, as on a full disk.

    It holds for the whole process, pytest's own output included, so nothing but the call under test belongs inside.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_torn_line_is_cut_at_every_byte_and_never_fused_with_the_next_record(  # N73
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # thousands of them, and no power cut in sight
    store = make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "PF"})
    whole = (store / "trials.jsonl").read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    fresh = canonical({"trial_id": "fresh"}) + b"\n"
    path = tmp_path / "cut.jsonl"
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        torn = [line.number for line in read_lines(path) if line.is_torn]
        assert torn == ([4] if end > start else [])
        file = AppendFile(path)
        assert file.cut_bytes == end - start
        file.append(fresh)
        file.close()
        assert path.read_bytes() == whole[:start] + fresh


def test_a_file_that_is_one_torn_line_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b"x" * 200_000)
    file = AppendFile(path)
    file.close()
    assert file.cut_bytes == 200_000
    assert path.read_bytes() == b""


def test_an_append_that_finds_no_room_leaves_nothing_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = AppendFile(path)
    file.append(b'{"a":1}\n')
    with file_size_limit(12), pytest.raises(StoreError, match=r"events\.jsonl: File too large"):
        file.append(b'{"b":2}\n')
    assert path.read_bytes() == b'{"a":1}\n'
    file.append(b'{"c":3}\n')
    assert [line.value for line in read_lines(path)] == [{"a": 1}, {"c": 3}]
    file.close()


def test_an_append_that_cannot_be_synced_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AppendFile(tmp_path / "events.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _fail(errno.EIO))
        with pytest.raises(StoreError, match=r"events\.jsonl: Input/output error"):
            file.append(b"{}\n")
    file.close()
    assert (tmp_path / "events.jsonl").read_bytes() == b""


def test_each_append_is_one_write_and_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any) -> Any:
            calls.append(name)
            return call(*args)

        return counting

    file = AppendFile(tmp_path / "x.jsonl")
    monkeypatch.setattr(os, "pwrite", counted("write", os.pwrite))
    monkeypatch.setattr(os, "fsync", counted("sync", os.fsync))
    file.append(b"{}\n" * 1000)
    assert calls == ["write", "sync"]
    file.close()


def test_a_replacement_that_fails_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    replace_file(path, b"old")
    with file_size_limit(3), pytest.raises(StoreError, match=r"run\.json: File too large"):
        replace_file(path, b"newer")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    first = Lock(tmp_path / "run.lock")
    with pytest.raises(StoreError, match="another arci is writing this run"):
        Lock(tmp_path / "run.lock")
    first.close()
    Lock(tmp_path / "run.lock").close()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":1,"a":1}\n', "canonical"),
        (b'{"a": 1}\n', "canonical"),
        (b'{"b":1,"a":1}\n', "canonical"),
        (b'{"a":1.00}\n', "canonical"),
        (b'{"a":NaN}\n', "NaN"),
        (b'{"a":1e999}\n', "JSON compliant"),
        (b"[1]\n", "list"),
        (b"\n", "unreadable"),
        (b"\xff\xfe\n", "unreadable"),
        (b"[" * 200_000 + b"\n", "deep"),
        (b'{"a":' + b"9" * 5000 + b"}\n", "limit"),
    ],
)
def test_a_line_that_is_not_as_it_was_written_is_a_problem(tmp_path: Path, raw: bytes, reason: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(raw)
    [line] = read_lines(path)
    assert line.value is None
    assert reason in line.problem
    assert not line.is_torn


@pytest.mark.parametrize("text", ["\u2028\u2029", "\ud800", "\x1b[31m", "ß𝄞", "\x00\x7f", '"\\\n'])
def test_any_text_survives_in_a_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    file = AppendFile(path)
    file.append(canonical({text: [text, 1.5, -0.0, 10**20, None]}) + b"\n")
    file.close()
    [line] = read_lines(path)
    assert json.dumps(line.value) == json.dumps({text: [text, 1.5, -0.0, 10**20, None]})


def _fail(code: int) -> Callable[..., NoReturn]:
    def failing(*_args: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return failing
