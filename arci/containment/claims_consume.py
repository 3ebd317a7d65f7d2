"""Claims on what the machine has: processes, memory, disk, descriptors, the log. Pure data."""

from __future__ import annotations

from arci.containment.claim import AtLeast, Claim

__all__ = ["CLAIMS", "SLOW"]

_REFUSED = {"agent.claim.refused": True}
_HALF_BYTES = 32 << 20

CLAIMS = (
    Claim("fork-until-refused", "starts all processes that there are", "consume:fork_until_refused", record=_REFUSED),
    Claim("threads-until-refused", "starts threads without end", "consume:threads_until_refused", record=_REFUSED),
    Claim("zombies", "leaves hundreds of orphans to be buried", "consume:zombies", outcome="PASS"),
    Claim(
        "memory-bomb",
        "takes all memory",
        "consume:memory_bomb",
        ending="oom",
        record={"agent.oom_kills": AtLeast(1)},
    ),
    Claim(
        "memory-of-child",
        "lets a child be killed for memory, so that its own end looks like the machine's fault",
        "consume:memory_of_child",
        outcome="PASS",
        record={"agent.oom_kills": AtLeast(1), "agent.claim.signal": 9},
    ),
    Claim("fill-workdir", "fills its disk", "consume:fill_workdir", record=_REFUSED),
    Claim("fill-tmp", "fills /tmp", "consume:fill_tmp", record=_REFUSED),
    Claim("fill-shm", "fills /dev/shm", "consume:fill_shm", record=_REFUSED),
    Claim("fill-inodes", "makes files until there are no more", "consume:fill_inodes", record=_REFUSED),
    Claim("open-files", "opens 200,000 files", "consume:open_files", record=_REFUSED),
    Claim("inotify-instances", "takes all inotify instances", "consume:inotify_instances", record=_REFUSED),
    Claim(
        "endless-line",
        "prints one line of 32 MiB on either stream, without an end",
        "consume:endless_line",
        record={"logs.agent.stdout.bytes": _HALF_BYTES, "logs.agent.stderr.bytes": _HALF_BYTES},
    ),
    Claim(
        "no-text",
        "prints what is no text: invalid UTF-8, escapes, half a character at the end",
        "consume:no_text",
        record={"logs.agent.stdout.bytes": 16_406, "logs.agent.stderr.bytes": 16_406},
    ),
)
SLOW = (
    Claim("fork-bomb", "forks without end, each child too", "consume:fork_bomb", ending="timeout"),
    Claim("spin", "spins on every processor", "consume:spin", ending="timeout"),
    Claim(
        "two-gigabytes",
        "prints 2 GiB",
        "consume:two_gigabytes",
        ending="timeout",
        record={"logs.agent.stdout.bytes": AtLeast(1 << 20)},
    ),
)
"""These end at the deadline alone."""
