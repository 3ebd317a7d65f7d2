"""What a container of ours looks like, as the engine's create request. Pure; one function decides, a test holds it.

Hardening is here and nowhere else: all capabilities dropped, no new privileges, limits on memory, processes, CPU, files
and disk, no network of its own, no bind, no socket, no log driver, read-only root, the image's volumes masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.model.manifest import Isolation

__all__ = [
    "AGENT_PORT",
    "BOUNDARY_CAPS",
    "BYTECODE_DIR",
    "ENVIRONMENT_DIR",
    "ENVIRONMENT_UID",
    "EVIDENCE_DIR",
    "HOLDER_USER",
    "INIT",
    "LAUNCH",
    "RUNTIME_DIR",
    "SILENCE",
    "SLOT_DIR",
    "WORKDIR",
    "ImageFacts",
    "Mount",
    "container_config",
    "holder_config",
    "silence_argv",
    "workdir_volume",
]

RUNTIME_DIR = "/opt/arci"
INIT = f"{RUNTIME_DIR}/bin/arci-init"
LAUNCH = f"{RUNTIME_DIR}/lib/arci/guest/launch.py"
BYTECODE_DIR = "/opt/arci-bytecode"
"""Where an image finds the library compiled for its own interpreter, if that is another than the runtime's."""
WORKDIR = "/work"
EVIDENCE_DIR = "/evidence"
"""Where the boundary's container mounts the agent's workdir, read-only, to keep it alive."""
ENVIRONMENT_DIR = "/environment"
"""Holds a directory for each MCP server, at the same path in the boundary's container and in those of servers."""
SLOT_DIR = "/run/arci"
SILENCE = "--silence-ms"
"""What follows is how long a guest of ours lives on when nothing comes on its stdin; without it, for ever."""
AGENT_PORT = 47112
"""The one port of the agent's side; its namespace is the slot's own, so the number only has to be unusual."""
ENVIRONMENT_UID = 65532
HOLDER_USER = "65533:65533"
BOUNDARY_CAPS = ("KILL", "SETGID", "SETUID")
"""The boundary runs the environment under another uid and must be able to end it."""

_SHM_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What of an image matters for starting it. `id` is the engine's own, for this engine alone."""

    id: str
    user: str = ""
    workdir: str = "/"
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    """Digests of its layers, the lowest first."""

    @classmethod
    def from_inspect(cls, inspect: Mapping[str, Any]) -> ImageFacts:
        """From the engine's `GET /images/{id}/json`; empty and null alike."""
        config = inspect.get("Config") or {}
        return cls(
            id=inspect["Id"],
            user=config.get("User") or "",
            workdir=config.get("WorkingDir") or "/",
            entrypoint=tuple(config.get("Entrypoint") or ()),
            cmd=tuple(config.get("Cmd") or ()),
            volumes=tuple(sorted(config.get("Volumes") or ())),
            layers=tuple((inspect.get("RootFS") or {}).get("Layers") or ()),
        )


@dataclass(frozen=True, slots=True)
class Mount:
    volume: str
    target: str
    read_only: bool = True


def container_config(
    image: ImageFacts,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    labels: Mapping[str, str],
    network: str,
    limits: Isolation,
    files: int | None,
    mounts: Sequence[Mount] = (),
    scratch: Sequence[str] = (),
    user: str | None = None,
    caps: Sequence[str] = (),
) -> dict[str, Any]:
    """The create request of one guest. `network` is a container id to join, or `none`; `files` is already clamped.

    `files` None leaves the engine's own limit, which is how it is found out. `scratch`: paths, beside /tmp, that are
    writable, limited, and gone with the container.
    """
    masked = [path for path in image.volumes if path not in {*scratch, *(m.target for m in mounts)}]
    tmpfs = dict.fromkeys(("/tmp", *scratch, *masked), f"rw,exec,nosuid,nodev,mode=1777,{_room(limits.disk_bytes)}")
    host = {
        **_limited(limits, files),
        **_hardened(limits, caps),
        "LogConfig": {"Type": "none"},
        "Mounts": [_mount(m) for m in mounts],
        "NetworkMode": network if network == "none" else f"container:{network}",
        "Tmpfs": tmpfs,
    }
    config: dict[str, Any] = {
        "Image": image.id,
        "Entrypoint": list(argv[:1]),
        "Cmd": list(argv[1:]),
        "Env": [f"{name}={value}" for name, value in sorted(env.items())],
        "Labels": dict(labels),
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        # The container's stdin ends when the one client that is attached goes away: the chain of life starts here.
        "StdinOnce": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": host,
    }
    if user is not None:
        config["User"] = user
    return config


def silence_argv(limit_ms: int | None) -> tuple[str, ...]:
    """The option with which a guest of ours listens for signs of life; None: it does not."""
    return () if limit_ms is None else (SILENCE, str(limit_ms))


def holder_config(
    image: ImageFacts,
    *,
    labels: Mapping[str, str],
    limits: Isolation,
    files: int,
    slot_volume: str | None,
    silence_ms: int | None = None,
) -> dict[str, Any]:
    """The create request of a holder: with a slot volume it relays the agent's side, without it only holds.
    `silence_ms` None: it needs no sign of life."""
    argv = [INIT, "hold", *silence_argv(silence_ms)]
    if slot_volume is not None:
        argv += ["--listen", f"127.0.0.1:{AGENT_PORT}"]
    mounts = [Mount(slot_volume, SLOT_DIR)] if slot_volume is not None else []
    return container_config(
        image,
        argv,
        env={},
        labels=labels,
        network="none",
        limits=limits,
        files=files,
        mounts=mounts,
        user=HOLDER_USER,
    )


def workdir_volume(name: str, *, labels: Mapping[str, str], size_bytes: int) -> dict[str, Any]:
    """Arguments of a volume that the local driver keeps in memory, limited in bytes and in files."""
    # A new volume is root's; its guests may be any uid, so the mode is open: only this trial's mount it. Sticky, so
    # that one of several servers cannot put a directory of its own in the place of another's.
    options = f"{_room(size_bytes)},mode=1777,nosuid,nodev"
    return {
        "name": name,
        "driver": "local",
        "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": options},
        "labels": dict(labels),
    }


def _limited(limits: Isolation, files: int | None) -> dict[str, Any]:
    """What a guest may use."""
    found: dict[str, Any] = {
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,
        "PidsLimit": limits.pids,
        "ShmSize": min(_SHM_BYTES, limits.disk_bytes),
        "Ulimits": [] if files is None else [{"Name": "nofile", "Soft": files, "Hard": files}],
    }
    if limits.cpus is not None:
        found["NanoCpus"] = int(limits.cpus * 1e9)
    return found


def _hardened(limits: Isolation, caps: Sequence[str]) -> dict[str, Any]:
    """What a guest may do."""
    found: dict[str, Any] = {
        "AutoRemove": False,
        "Binds": None,
        "CapAdd": sorted(caps),
        "CapDrop": ["ALL"],
        "Init": False,
        "IpcMode": "private",
        "Privileged": False,
        "ReadonlyRootfs": limits.read_only,
        "RestartPolicy": {"Name": "no"},
        "SecurityOpt": ["no-new-privileges"],
    }
    if limits.runtime is not None:
        found["Runtime"] = limits.runtime
    return found


def _room(size_bytes: int) -> str:
    """Limits of a file system in memory: bytes, and files, whose own room would else be without limit."""
    return f"size={size_bytes},nr_inodes={max(1024, size_bytes // 4096)}"


def _mount(mount: Mount) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": mount.volume,
        "Target": mount.target,
        "ReadOnly": mount.read_only,
        "VolumeOptions": {"NoCopy": True},
    }
