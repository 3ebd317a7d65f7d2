"""Each role's container as the create request says it: mounts, namespaces, users and commands, without an engine."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec, RunPlan, TrialPlan
from arci.isolation.conformance.plan import BANK, SERVERS, SHOP, conformance_plan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.findings import findings, images_started_as_they_are, too_few_files, without_command
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.isolation import image_refs
from arci.isolation.docker.probe import Probe
from arci.isolation.docker.roles import PodParts, guest_config
from arci.isolation.docker.spec import ImageFacts
from arci.model.trial import Role

PLAN = TrialPlan("clean:00000:baseline", "baseline", 1)
LIMITS = {"caps": ["CHOWN"], "read_only": False}
RUN = conformance_plan("docker", isolation=LIMITS)
IMAGES = {
    **{key: ImageFacts(f"sha256:{key}", cmd=("run",)) for key in ("baseline", "candidate", "boundary", "grader")},
    "server:shop": ImageFacts("sha256:shop", user="10001", entrypoint=("serve",), cmd=("--stdio",), volumes=("/data",)),
    "server:bank": ImageFacts("sha256:bank"),
}
REFS = dict.fromkeys(("baseline", "candidate", "boundary", "grader"), "sha256:aa")


def holder(name: str) -> DockerGuest:
    return cast(DockerGuest, SimpleNamespace(container_id=name))


PARTS = PodParts(
    images=IMAGES,
    runtime_volume="runtime",
    bytecode={"sha256:shop": "compiled", "sha256:grader": "compiled"},
    slot_volume="slot",
    work_volume="work",
    environment_volume="environment",
    agent_holder=holder("agent-side"),
    trusted_holder=holder("trusted-side"),
    socket_path="/run/arci/abc.sock",
    files=512,
    slot_number=3,
)


def config_of(role: Role, *, run: RunPlan = RUN, parts: PodParts = PARTS, **process: Any) -> dict[str, Any]:
    if role is Role.ENVIRONMENT:
        process = {"serve": (SHOP, "t0k3n"), **process}
    return guest_config(run, PLAN, parts, role, ProcessSpec(process.pop("argv", ()), **process))


def mounted(config: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Target -> volume, and whether it can be written."""
    return {m["Target"]: (m["Source"], not m["ReadOnly"]) for m in config["HostConfig"]["Mounts"]}


def command(config: dict[str, Any]) -> list[str]:
    return [*config["Entrypoint"], *config["Cmd"]]


def test_a_server_runs_its_image_as_it_is_under_arci_init_on_the_trusted_side() -> None:
    config = config_of(Role.ENVIRONMENT, env={"A": "1"})
    init = ["/opt/arci/bin/arci-init", "init", "--serve", "unix:/run/arci/abc.sock", "--"]
    assert command(config) == [*init, "serve", "--stdio"]
    assert config["Image"] == "sha256:shop"
    assert "User" not in config, "the image's own"
    assert config["Env"] == ["A=1", "HOME=/environment/shop", "TMPDIR=/tmp"]
    assert config["HostConfig"]["NetworkMode"] == "container:trusted-side"
    assert config["Labels"]["dev.arci.role"] == "environment"


def test_a_server_has_no_capability_and_no_writable_root_whatever_the_agent_has() -> None:
    host, agents = config_of(Role.ENVIRONMENT)["HostConfig"], config_of(Role.AGENT)["HostConfig"]
    assert (host["CapAdd"], host["ReadonlyRootfs"]) == ([], True)
    assert (agents["CapAdd"], agents["ReadonlyRootfs"]) == (["CHOWN"], False)
    assert host["Memory"] == agents["Memory"]
    assert set(host["Tmpfs"]) == {"/tmp", "/data"}


def test_a_server_sees_the_socket_read_only_and_its_directory_and_no_bytecode() -> None:
    assert mounted(config_of(Role.ENVIRONMENT)) == {
        "/opt/arci": ("runtime", False),
        "/run/arci": ("slot", False),
        "/environment": ("environment", True),
    }


def test_a_server_whose_files_nobody_reads_has_a_directory_of_its_own() -> None:
    config = config_of(Role.ENVIRONMENT, serve=(BANK, "t"), argv=("x",))
    assert "/environment" not in mounted(config)
    assert "/environment" in config["HostConfig"]["Tmpfs"]


def test_the_boundary_keeps_the_servers_files_and_no_other_role_sees_them() -> None:
    assert mounted(config_of(Role.BOUNDARY))["/environment"] == ("environment", True)
    for role in (Role.AGENT, Role.GRADER):
        config = config_of(role)
        assert "/environment" not in {*mounted(config), *config["HostConfig"]["Tmpfs"]}
        assert "/run/arci" not in mounted(config)


@pytest.mark.parametrize(
    ("servers", "has_room"),
    [
        ((), False),  # a toolset
        ((SERVERS[1],), False),  # in a container of its own
        (({**SERVERS[1], "has_image": False},), True),  # started by the recorder
    ],
)
def test_the_boundary_has_room_for_the_servers_that_it_starts(servers: tuple[Any, ...], has_room: bool) -> None:
    run = conformance_plan("docker", servers=servers)
    config = config_of(Role.BOUNDARY, run=run, parts=replace(PARTS, environment_volume=None))
    assert ("/environment" in config["HostConfig"]["Tmpfs"]) is has_room
    assert "/environment" not in mounted(config)


def test_the_agents_home_is_its_workdir_unless_its_own_environment_says_otherwise() -> None:
    assert "HOME=/work" in config_of(Role.AGENT)["Env"]
    assert "HOME=/elsewhere" in config_of(Role.AGENT, env={"HOME": "/elsewhere"})["Env"]


def test_an_image_that_names_nothing_to_start_is_refused() -> None:
    with pytest.raises(EngineError, match="neither an ENTRYPOINT nor a CMD"):
        config_of(Role.ENVIRONMENT, serve=(BANK, "t"))
    with pytest.raises(EngineError, match="no image `server:other`"):
        config_of(Role.ENVIRONMENT, serve=("other", "t"))


def test_preflight_names_every_image_that_is_to_be_started_as_it_is_and_cannot_be() -> None:
    arm = replace(RUN.manifest.arms["candidate"], argv=())
    shop, bank = (replace(s, argv=()) for s in RUN.manifest.environment.servers)
    environment = replace(RUN.manifest.environment, servers=(shop, bank))
    manifest = replace(RUN.manifest, arms={**RUN.manifest.arms, "candidate": arm}, environment=environment)
    keys = images_started_as_they_are(manifest)
    assert keys == ("candidate", "server:shop", "server:bank")
    (problem,) = without_command({key: IMAGES[key] for key in keys})
    assert problem.startswith("image of server:bank: has neither")
    assert images_started_as_they_are(RUN.manifest) == ()


def test_a_manifest_without_the_image_of_a_server_is_refused_by_its_name() -> None:
    complete = conformance_plan("docker", image_refs=REFS).manifest
    assert set(image_refs(complete)) == {*REFS, "server:shop", "server:bank"}
    with pytest.raises(EngineError, match=r"none for server:bank, server:shop\."):
        image_refs(replace(complete, volatile={"image_refs": REFS}))


def test_containers_of_servers_need_open_files_too() -> None:
    assert too_few_files(10, 64 + 10 * 12) == ()
    assert too_few_files(10, 64 + 10 * 14, servers=1) == ()
    (problem,) = too_few_files(10, 64 + 10 * 12, servers=1)
    assert "`--workers 8`" in problem


@pytest.mark.parametrize(("servers", "mebibytes"), [((), 256), (SERVERS, 512)])
def test_memory_is_counted_for_every_container_of_a_trial(servers: tuple[Any, ...], mebibytes: int) -> None:
    """64 MiB each for agent, boundary and servers of two workers."""
    run = conformance_plan("docker", workers=2, servers=servers)
    seen = Probe(64 << 20, 128, 4096, 0, True, ("lo",), True, 1 << 40)
    engine = cast(Engine, SimpleNamespace(endpoint="unix:///x", why="a test says so"))

    def warnings(memory_bytes: int) -> tuple[str, ...]:
        return findings(run, seen, {"MemTotal": memory_bytes}, engine).warnings

    assert warnings(mebibytes << 20) == ()
    (warning,) = warnings((mebibytes << 20) - 1)
    assert f"may use {mebibytes} MiB" in warning
