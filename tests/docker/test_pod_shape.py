"""What the containers of a real pod are, as the engine itself describes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from pods import KEEP, ended, image_with, of_run, plan, python, runtime_image, trial, volumes_of_run, within

from arci.isolation.base import RunPlan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import EXPERIMENT, ROLE, RUN, TRIAL
from arci.isolation.docker.spec import BOUNDARY_CAPS
from arci.model.trial import Role

SLEEP = python("import time; time.sleep(600)")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pod with all three roles at work, on an agent's image that has a USER and a VOLUME with files in it."""

    run: RunPlan
    agent_image: str
    other_image: str
    roles: dict[str, dict[str, Any]]
    holders: list[dict[str, Any]]
    networks: tuple[set[str], set[str]]
    """Ids of all networks before the run and during it."""
    left: list[Any]
    """What there is of the run after it."""

    @property
    def all(self) -> list[dict[str, Any]]:
        return [*self.roles.values(), *self.holders]


@pytest.fixture(scope="module")
def pod(engine: Engine) -> Snapshot:
    lines = 'COPY data /data/precious\nUSER 10001\nVOLUME ["/data", "/logs"]'
    with image_with(engine, lines, {"data": b"of the image"}) as tag:
        return within(partial(take_snapshot, engine, tag, runtime_image(engine)))


async def take_snapshot(engine: Engine, agent: str, other: str) -> Snapshot:
    api = engine.api
    run = plan(other, agent=agent, memory_bytes=80 << 20, pids=99, files=512, cpus=0.5)
    before = {network["Id"] for network in api.networks()}
    async with DockerIsolation(engine).open(run) as slots, slots.pod(trial()) as pod:
        await pod.start(Role.BOUNDARY, KEEP)
        await pod.start(Role.AGENT, SLEEP)
        await pod.start(Role.GRADER, SLEEP)
        during = {network["Id"] for network in api.networks()}
        inspected = [api.inspect_container(row["Id"]) for row in of_run(engine, run)]
    roles = {c["Config"]["Labels"][ROLE]: c for c in inspected if c["Config"]["Labels"][ROLE] != "holder"}
    holders = [c for c in inspected if c["Config"]["Labels"][ROLE] == "holder"]
    left = [*of_run(engine, run), *volumes_of_run(engine, run)]
    image = api.inspect_image(agent)["Id"]  # type: ignore[no-untyped-call]  # untyped in the stubs
    return Snapshot(run, image, other, roles, holders, (before, during), left)


def test_the_three_roles_are_three_containers_and_two_holders_keep_their_namespaces(pod: Snapshot) -> None:
    assert set(pod.roles) == {"agent", "boundary", "grader"}
    assert len({c["Id"] for c in pod.all}) == 5
    assert {c["HostConfig"]["NetworkMode"] for c in pod.holders} == {"none"}


def test_the_agent_and_the_trusted_side_join_different_namespaces(pod: Snapshot) -> None:
    mode = {role: c["HostConfig"]["NetworkMode"] for role, c in pod.roles.items()}
    assert mode["boundary"] == mode["grader"] != mode["agent"]
    assert {mode["agent"], mode["boundary"]} == {f"container:{c['Id']}" for c in pod.holders}


def test_no_network_is_made(pod: Snapshot) -> None:
    """N6: nothing of the engine's address pools is used."""
    before, during = pod.networks
    assert before == during
    assert not any((c["NetworkSettings"].get("Networks") or {}).keys() - {"none"} for c in pod.all)


def test_every_container_is_hardened(pod: Snapshot) -> None:
    """R2: no capability but the boundary's three, no new privileges, no host namespace, nothing privileged."""
    for container in pod.all:
        host = container["HostConfig"]
        role = container["Config"]["Labels"][ROLE]
        assert host["CapDrop"] == ["ALL"]
        assert sorted(host["CapAdd"] or []) == (list(BOUNDARY_CAPS) if role == "boundary" else []), role
        assert host["SecurityOpt"] == ["no-new-privileges"]
        assert host["ReadonlyRootfs"] is True
        assert host["Privileged"] is False
        assert host["AutoRemove"] is False
        assert host["LogConfig"]["Type"] == "none"
        assert host["RestartPolicy"]["Name"] == "no"
        assert "host" not in (host["PidMode"], host["IpcMode"], host["UTSMode"], host["UsernsMode"])
        assert not host["Devices"]
        assert container["Config"]["Healthcheck"] == {"Test": ["NONE"]}


def test_every_container_has_the_limits_of_the_manifest(pod: Snapshot) -> None:
    for container in pod.all:
        host = container["HostConfig"]
        assert (host["Memory"], host["MemorySwap"]) == (80 << 20, 80 << 20)
        assert host["PidsLimit"] == 99
        assert host["NanoCpus"] == 500_000_000
        assert host["Ulimits"] == [{"Name": "nofile", "Soft": 512, "Hard": 512}]
        assert f"size={pod.run.manifest.isolation.disk_bytes}," in host["Tmpfs"]["/tmp"]


def test_nothing_of_the_host_is_mounted(pod: Snapshot) -> None:
    """N33: no bind, no engine's socket; volumes of ours alone."""
    for container in pod.all:
        assert container["HostConfig"]["Binds"] is None
        assert all(m["Type"] in ("volume", "tmpfs") for m in container["Mounts"]), container["Mounts"]
        assert not any("docker.sock" in str(m) for m in container["Mounts"])


def test_each_role_mounts_what_it_needs_and_no_more(pod: Snapshot) -> None:
    mounts = {
        role: {m["Destination"]: m["RW"] for m in container["Mounts"] if m["Type"] == "volume"}
        for role, container in pod.roles.items()
    }
    assert mounts == {
        "agent": {"/opt/arci": False, "/work": True},
        "boundary": {"/opt/arci": False, "/run/arci": True, "/evidence": False},
        "grader": {"/opt/arci": False},
    }
    assert sorted(len(c["Mounts"]) for c in pod.holders) == [0, 1]


def test_volumes_that_an_image_declares_are_masked_and_none_is_made(pod: Snapshot) -> None:
    """N3: an anonymous volume would outlive a careless removal; a limited tmpfs leaves nothing."""
    agent = pod.roles["agent"]
    assert {"/data", "/logs"} <= set(agent["HostConfig"]["Tmpfs"])
    names = [m["Name"] for c in pod.all for m in c["Mounts"] if m["Type"] == "volume"]
    assert all(name.startswith("arci-") for name in names), names


def test_images_are_named_by_id_and_keep_their_user(pod: Snapshot) -> None:
    assert pod.roles["agent"]["Config"]["Image"] == pod.agent_image
    assert pod.roles["boundary"]["Config"]["Image"] == pod.roles["grader"]["Config"]["Image"] == pod.other_image
    assert pod.roles["agent"]["Config"]["User"] == "10001"


def test_everything_is_labelled_with_run_experiment_role_and_trial(pod: Snapshot) -> None:
    for container in pod.all:
        labels = container["Config"]["Labels"]
        assert labels[RUN] == pod.run.run_id
        assert labels[EXPERIMENT] == pod.run.manifest.experiment_id
    assert {c["Config"]["Labels"][TRIAL] for c in pod.roles.values()} == {trial().trial_id}


def test_nothing_is_left_of_the_run(pod: Snapshot) -> None:
    assert pod.left == []


def test_a_masked_volume_is_empty_and_writable(engine: Engine) -> None:
    """N3: what the image put there is not the agent's either; it gets room of its own, with a limit."""
    code = 'import os; print(os.listdir("/data")); open("/data/mine", "w").close(); print(os.listdir("/data"))'
    with image_with(engine, "COPY data /data/precious\nVOLUME /data", {"data": b"x"}) as tag:
        run = plan(runtime_image(engine), agent=tag)

        async def main() -> bytes:
            async with DockerIsolation(engine).open(run) as slots, slots.pod(trial()) as pod:
                return (await ended(await pod.start(Role.AGENT, python(code)))).stdout

        assert within(main) == b"[]\n['mine']\n"
