"""Docker without root: an engine in a user namespace, whose user this machine need not know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dockerds import OtherEngine, answers
from machines import directory_for, machine

__all__ = ["rootless"]

_USER = 52000
_SCRIPT = """\
set -eu
cd {directory}
mount --bind passwd /etc/passwd
mount --bind group /etc/group
mount --bind subuid /etc/subuid
mount --bind subgid /etc/subgid
exec setpriv --reuid={user} --regid={user} --clear-groups --inh-caps=-all rootlesskit --net=host --copy-up=/etc \\
  --copy-up=/run --state-dir={directory}/own/state \\
  sh -c 'rm -f /run/docker /run/containerd /run/xtables.lock; exec "$@"' sh dockerd --rootless \\
  --host=unix://{directory}/own/sock --data-root={directory}/own/data --exec-root={directory}/own/exec \\
  --pidfile={directory}/own/pid --storage-driver={storage} --bridge=none --iptables=false --ip6tables=false \\
  --ip-forward=false --log-level=warn
"""
"""The user is known within the machine's own mounts alone. rootlesskit is what Docker's own script calls."""


@contextmanager
def rootless(storage: str) -> Iterator[OtherEngine]:
    """An empty one, run by a user who is nobody else's."""
    with directory_for("rootless") as directory:
        directory.chmod(0o755)
        own = directory / "own"
        own.mkdir()
        os.chown(own, _USER, _USER)
        lines = {"passwd": f"arci:x:{_USER}:{_USER}::{own}:/bin/sh\n", "group": f"arci:x:{_USER}:\n"}
        for name, line in lines.items():
            (directory / name).write_text(Path("/etc", name).read_text() + line)
        for name in ("subuid", "subgid"):
            (directory / name).write_text(f"arci:{2 * _USER}:65536\n")
            Path("/etc", name).touch()
        env = {"DOCKER_HOST": f"unix://{own}/sock"}
        argv = ["sh", "-c", _SCRIPT.format(directory=directory, user=_USER, storage=storage)]
        known = {"HOME": str(own), "XDG_RUNTIME_DIR": str(own), "USER": "arci"}
        with machine(directory, argv, partial(answers, env), env=known) as found:
            yield OtherEngine(found, env)
