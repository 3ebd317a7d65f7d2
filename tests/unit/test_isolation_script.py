"""Scripts as data: the same value renders, is recognised again, and does the same in a real guest."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from arci.isolation import script as s

EVERY_KIND: s.Script = (
    s.Print(b"\0\xff\n", "stderr", 3),
    s.Pattern(10),
    s.Echo(),
    s.Sleep(0.5),
    s.OnTerm((s.Print(b"bye"), s.Exit(3))),
    s.WriteFile("$HOME/a", b"\xfe", 2),
    s.ReadFile("a"),
    s.WaitFor("a"),
    s.Link("l", "/etc"),
    s.ListDirectory(),
    s.Environment(),
    s.Spawn((s.Spawn((s.Die(9),), detached=True),), quiet=True),
    s.Orphans(2),
    s.Listen("unix:/a"),
    s.Hold("tcp:127.0.0.1:1", "n"),
    s.Python("put('x')"),
    s.Exit(7),
    s.Die(9),
)


def run(script: s.Script, tmp_path: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        s.render(script, sys.executable), input=stdin, capture_output=True, cwd=tmp_path, timeout=60, check=False
    )


def test_a_rendered_script_is_recognised_as_the_same_value() -> None:
    assert s.rendered(s.render(EVERY_KIND, "any-python")) == EVERY_KIND


def test_every_kind_of_operation_is_in_that_test() -> None:
    assert {type(op) for op in EVERY_KIND} == set(s._KINDS)


@pytest.mark.parametrize("argv", [(), ("python3", "-c", "x"), ("python3", "-I", "-S", "-c", "other", "[]")])
def test_another_argv_is_no_script(argv: tuple[str, ...]) -> None:
    assert s.rendered(argv) is None


def test_a_guest_does_what_its_script_says(tmp_path: Path) -> None:
    ran = run(
        (
            s.Print(b"\xffa", times=2),
            s.Print(b"e", "stderr"),
            s.Pattern(20, "stderr"),
            s.WriteFile("d/f", b"\0q", 2),
            s.ReadFile("d/f"),
            s.ReadFile("none"),
            s.Spawn((s.WriteFile("child", b"c"),)),
            s.WaitFor("child"),
            s.ListDirectory(),
            s.Echo(),
            s.Orphans(3),
            s.Exit(7),
        ),
        tmp_path,
        b"in",
    )
    assert ran.stdout == b"\xffa\xffa" + b"\0q\0q" + b"missing" + b"child\nd" + b"in" + b"made 3"
    assert ran.stderr == b"e" + s.pattern(20)
    assert ran.returncode == 7


@pytest.mark.parametrize("number", [9, 11, 15])
def test_a_guest_dies_by_the_signal_it_is_told(tmp_path: Path, number: int) -> None:
    assert run((s.Die(number),), tmp_path).returncode == -number


def test_a_pattern_tells_the_offset_at_every_place() -> None:
    whole = s.pattern(1000)
    assert len(whole) == 1000
    assert [int.from_bytes(whole[i : i + 8], "big") for i in range(0, 1000, 8)] == list(range(125))


def test_the_guest_s_half_is_python_3_9() -> None:
    source = Path(s.__file__).with_name("script_guest.py").read_text()
    ast.parse(source, feature_version=(3, 9))
