"""Where a command's output cannot go: said before any work where it can be known, and never the code of a verdict."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from e2e import call
from runs import make_run

TRIAL = "reserve-timeout:00000:candidate"
WRITING = {
    "gate": ("gate", "RUN", "--markdown", "OUT"),
    "report": ("report", "RUN", "--format", "html", "--out", "OUT"),
    "seal": ("seal", "arci.yaml", "--out", "OUT"),
    "minimize": ("minimize", "RUN", TRIAL, "--out", "OUT"),
    "bundle": ("bundle", "RUN", TRIAL, "--out", "OUT"),
    "images save": ("images", "save", "OUT"),
}

every_writer = pytest.mark.parametrize("words", WRITING.values(), ids=WRITING.keys())


def filled(words: tuple[str, ...], run: Path, out: Path) -> list[str]:
    return [{"RUN": str(run), "OUT": str(out)}.get(word, word) for word in words]


@every_writer
def test_a_file_in_a_directory_that_is_not_there_is_refused_before_any_work(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, *filled(words, make_run(tmp_path), tmp_path / "nowhere" / "out"))
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert f"'{tmp_path}/nowhere' is not a directory; one that is there is required." in ended.stderr


@every_writer
def test_a_device_or_a_pipe_is_not_put_aside_for_a_file(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended = call(capsys, *filled(words, make_run(tmp_path), pipe))
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert "is no regular file; a file's path is allowed." in ended.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_job_summary_that_cannot_be_written_is_named_and_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary.md"))
    ended = call(capsys, "gate", make_run(tmp_path))
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert ended.stderr == f"arci: {tmp_path}/nowhere/summary.md: No such file or directory\n"


def test_a_full_disk_behind_stdout_is_not_taken_for_a_block() -> None:
    """Python's own exit status for an exception is that of BLOCK."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "arci", "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert done.stderr.endswith("arci: stopped by OSError, which it should not have been: no verdict.\n")


def test_an_archive_of_images_that_is_not_there_is_said_in_plain_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "images", "load", tmp_path / "nowhere.tar")
    assert ended.exit_code == 64
    assert f"{tmp_path}/nowhere.tar: does not exist; a file that `arci images save` wrote is required." in ended.stderr
