"""The header that `arci-init` reads, byte by byte."""

from __future__ import annotations

import pytest

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.header import init_header


@pytest.mark.parametrize(
    ("process", "header"),
    [
        (ProcessSpec(("x",)), b"feed 0\n"),
        (ProcessSpec(("x",), stdin=b"body\n"), b"feed 5\nbody\n"),
        (ProcessSpec(("x",), status_token="t0"), b"status t0\n"),
        (ProcessSpec((), serve=("shop", "t1")), b"serve t1 shop\n"),
        (
            ProcessSpec(("x",), status_token="t0", files={"/a/b c": b"\n\0", "/ü": b""}, directories=("/d", "/e/f")),
            b"mkdir /d\nmkdir /e/f\nput 2 /a/b c\n\n\0put 0 /\xc3\xbc\nstatus t0\n",
        ),
    ],
)
def test_what_is_laid_down_comes_before_what_the_guest_is(process: ProcessSpec, header: bytes) -> None:
    assert init_header(process) == header


@pytest.mark.parametrize("path", ["relative", "", "/two\nlines", "/nul\0"])
def test_a_path_that_no_line_can_carry_is_refused(path: str) -> None:
    for process in (ProcessSpec(("x",), files={path: b""}), ProcessSpec(("x",), directories=(path,))):
        with pytest.raises(EngineError, match="absolute path on one line"):
            init_header(process)
