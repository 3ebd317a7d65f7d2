"""A port for a server that has to be told one, because it cannot be asked which it was given."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from pathlib import Path

__all__ = ["free_port"]

_HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000


def free_port() -> int:
    """Of 127.0.0.1, below those that the kernel hands out: of those, any connection of this machine may be given one
    before the server has bound it."""
    end = max(int(_HANDED_OUT.read_text(encoding="ascii").split()[0]), 2 * _FIRST)
    for port in random.SystemRandom().sample(range(_FIRST, end), 100):
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"of 100 ports below {end} all are taken")
