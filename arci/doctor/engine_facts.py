"""An engine's answers to `version` and `info`, as far as the doctor tells them; and what they mean. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.doctor.finding import Health, Line

__all__ = ["EngineFacts", "engine_lines"]

_WITHOUT_SECCOMP = "start the engine with its default seccomp profile; guests may make any system call"


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Missing answers are empty text, 0 or False: engines differ in what they say."""

    product: str
    version: str
    api_newest: str
    api_oldest: str
    api_agreed: str
    client: str
    client_newest: str
    platform: str
    kernel: str
    cpus: int
    memory_bytes: int
    storage: str
    cgroup: str
    cgroup_driver: str
    security: tuple[str, ...]
    """Such as `seccomp`, `apparmor`, `rootless`."""
    runtime: str
    runtimes: tuple[str, ...]

    @classmethod
    def of(
        cls, version: Mapping[str, Any], info: Mapping[str, Any], *, agreed: str, client: str, client_newest: str
    ) -> EngineFacts:
        """Of the engine's answers, with the version of the API that is spoken and of the client library."""
        components: Sequence[Mapping[str, Any]] = version.get("Components") or ()
        platform = f"{version.get('Os') or info.get('OSType') or ''}/{version.get('Arch') or ''}"
        return cls(
            product=_product(components),
            version=str(version.get("Version") or info.get("ServerVersion") or ""),
            api_newest=str(version.get("ApiVersion") or ""),
            api_oldest=str(version.get("MinAPIVersion") or ""),
            api_agreed=agreed,
            client=client,
            client_newest=client_newest,
            platform=platform,
            kernel=str(version.get("KernelVersion") or info.get("KernelVersion") or ""),
            cpus=int(info.get("NCPU") or 0),
            memory_bytes=int(info.get("MemTotal") or 0),
            storage=str(info.get("Driver") or ""),
            cgroup=str(info.get("CgroupVersion") or ""),
            cgroup_driver=str(info.get("CgroupDriver") or ""),
            security=tuple(_security(info.get("SecurityOptions") or ())),
            runtime=str(info.get("DefaultRuntime") or ""),
            runtimes=tuple(sorted(info.get("Runtimes") or ())),
        )

    @property
    def is_rootless(self) -> bool:
        return "rootless" in self.security


def engine_lines(facts: EngineFacts) -> Iterator[Line]:
    """What the engine is; what it enforces, the probe tells."""
    yield Line(
        "versions",
        Health.OK,
        f"{facts.product} {facts.version}, API {facts.api_agreed} agreed (engine {facts.api_oldest or '?'} to "
        f"{facts.api_newest or '?'}, client library docker {facts.client} up to {facts.client_newest})",
    )
    room = f"{facts.memory_bytes / 2**30:.1f} GiB" if facts.memory_bytes else "memory unknown"
    yield Line(
        "system", Health.OK, f"{facts.platform}, kernel {facts.kernel}, {facts.cpus} CPUs, {room}, {facts.storage}"
    )
    others = [name for name in facts.runtimes if name != facts.runtime]
    also = f" (also {', '.join(others)})" if others else ""
    yield Line(
        "runtime", Health.OK, f"{facts.runtime or 'unknown'}{also}, {'rootless' if facts.is_rootless else 'rootful'}"
    )
    yield _cgroup(facts)
    has_seccomp = "seccomp" in facts.security
    yield Line(
        "security",
        Health.OK if has_seccomp else Health.WARNING,
        ", ".join(facts.security) or "no seccomp, no AppArmor, no SELinux",
        "" if has_seccomp else _WITHOUT_SECCOMP,
    )


def _cgroup(facts: EngineFacts) -> Line:
    detail = f"v{facts.cgroup or '1 or 2'}, driver {facts.cgroup_driver or 'unknown'}"
    if facts.is_rootless and facts.cgroup == "1":
        remedy = "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"
        return Line("cgroup", Health.WARNING, f"{detail}; a rootless engine cannot limit anything on v1", remedy)
    if facts.cgroup_driver == "none":
        return Line("cgroup", Health.WARNING, f"{detail}: the engine limits nothing", "delegate cgroups to its user")
    return Line("cgroup", Health.OK, detail)


def _product(components: Sequence[Mapping[str, Any]]) -> str:
    names = [str(component.get("Name") or "") for component in components]
    if any("podman" in name.lower() for name in names):
        return "Podman"
    return "Docker" if not names or names[0] == "Engine" else names[0]


def _security(options: Sequence[Any]) -> Iterator[str]:
    """`name=seccomp,profile=default` -> `seccomp`; older engines say `seccomp` alone."""
    for option in options:
        parts = dict(part.partition("=")[::2] for part in str(option).split(","))
        yield parts.get("name") or str(option)
