"""The recorder's end of the control channel where an engine was killed: it stays open, and nothing comes any more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from test_recorder_life import wait_until_gone

from arci.boundary import host as host_module
from arci.boundary.host import HostPort


class Clock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(host_module, "time", clock)
    return clock


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_host_is_gone_after_a_silence_and_every_byte_ends_one(clock: Clock, pipe: tuple[int, int]) -> None:
    port = HostPort(*pipe, silence_s=30.0)
    clock.now_s += 29.0
    port.look_after()
    assert (port.is_gone, port.patience_s) == (False, 1.0)
    os.write(pipe[1], b"\n")
    assert port.ready(pipe[0]) == []
    clock.now_s += 29.0
    port.look_after()
    assert (port.is_gone, port.patience_s) == (False, 1.0)
    clock.now_s += 1.0
    port.look_after()
    assert port.is_gone


def test_a_recorder_that_was_held_up_hears_first_and_judges_then(clock: Clock, pipe: tuple[int, int]) -> None:
    port = HostPort(*pipe, silence_s=30.0)
    os.write(pipe[1], b"\n")
    clock.now_s += 3600.0
    port.ready(pipe[0])
    port.look_after()
    assert not port.is_gone


def test_without_a_limit_a_host_may_be_silent(clock: Clock, pipe: tuple[int, int]) -> None:
    port = HostPort(*pipe)
    clock.now_s += 1e9
    port.look_after()
    assert (port.is_gone, port.patience_s) == (False, None)


def test_a_recorder_whose_host_is_silent_ends_with_its_environment(bench: Any) -> None:
    recorder = bench.recorder(silence_ms=2000)
    recorder.begin()  # the environment was forked before; a slow machine may not have it ready by the end
    assert recorder.process.wait(60) == 0
    wait_until_gone(recorder.process.pid)
    assert b'"trouble"' not in recorder.process.stdout.read()
