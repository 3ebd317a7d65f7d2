"""The created container: what hardening means is held here, field by field."""

from __future__ import annotations

from typing import Any

from arci.isolation.docker.guest import exit_of_state
from arci.isolation.docker.labels import labels
from arci.isolation.docker.spec import ImageFacts, Mount, container_config, holder_config, workdir_volume
from arci.model.manifest import Isolation

LIMITS = Isolation(
    backend="docker",
    runtime=None,
    memory_bytes=512 << 20,
    cpus=1.5,
    pids=256,
    disk_bytes=256 << 20,
    files=4096,
    user=None,
    read_only=True,
    caps=(),
    platform=None,
    fresh_namespace=False,
    require_separate_images=False,
    allow_unenforced=False,
)
IMAGE = ImageFacts("sha256:aa", user="10001", volumes=("/data", "/work"))


def _config(**changes: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "env": {"B": "2", "A": "1"},
        "labels": labels("run", "exp", "agent", "clean:00000:baseline"),
        "network": "f" * 64,
        "limits": LIMITS,
        "files": 1024,
        "mounts": [Mount("work", "/work", read_only=False), Mount("runtime", "/opt/arci")],
    }
    return container_config(IMAGE, ["/opt/arci/bin/arci-init", "init"], **{**arguments, **changes})


def test_a_guest_has_no_capability_no_network_no_host_path_and_limits_on_everything() -> None:
    host = _config()["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] == []
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Memory"] == host["MemorySwap"] == 512 << 20
    assert host["PidsLimit"] == 256
    assert host["NanoCpus"] == 1_500_000_000
    assert host["Ulimits"] == [{"Name": "nofile", "Soft": 1024, "Hard": 1024}]
    assert host["ReadonlyRootfs"] is True
    assert host["Privileged"] is False
    assert host["Binds"] is None
    assert host["AutoRemove"] is False
    assert host["LogConfig"] == {"Type": "none"}
    assert host["NetworkMode"] == "container:" + "f" * 64
    assert host["IpcMode"] == "private"
    assert all(mount["Type"] == "volume" for mount in host["Mounts"])
    assert not any("docker.sock" in str(mount) for mount in host["Mounts"])


def test_every_volume_of_the_image_is_masked_by_a_limited_mount() -> None:
    host = _config()["HostConfig"]
    targets = {mount["Target"] for mount in host["Mounts"]} | set(host["Tmpfs"])
    assert {"/data", "/work", "/tmp"} <= targets
    assert all(f"size={256 << 20}" in options for options in host["Tmpfs"].values())


def test_the_health_check_is_off_and_stdin_ends_with_its_one_client() -> None:
    config = _config()
    assert config["Healthcheck"] == {"Test": ["NONE"]}
    assert config["OpenStdin"]
    assert config["StdinOnce"]
    assert not config["Tty"]
    assert config["Env"] == ["A=1", "B=2"]
    assert "User" not in config, "the image's own user stays unless another is asked for"
    assert config["Labels"]["dev.arci.trial"] == "clean:00000:baseline"


def test_a_holder_has_a_namespace_of_its_own_and_no_shell_or_python() -> None:
    relay = holder_config(IMAGE, labels={}, limits=LIMITS, files=64, slot_volume="slot")
    still = holder_config(IMAGE, labels={}, limits=LIMITS, files=64, slot_volume=None)
    assert relay["HostConfig"]["NetworkMode"] == still["HostConfig"]["NetworkMode"] == "none"
    assert relay["Entrypoint"] == ["/opt/arci/bin/arci-init"]
    assert "--listen" in relay["Cmd"]
    assert still["Cmd"] == ["hold"]
    assert still["HostConfig"]["Mounts"] == []
    assert relay["User"] == "65533:65533"


def test_the_workdir_is_limited_in_bytes_and_in_files() -> None:
    options = workdir_volume("w", labels={}, size_bytes=256 << 20)["driver_opts"]["o"].split(",")
    assert f"size={256 << 20}" in options
    assert any(o.startswith("nr_inodes=") for o in options)
    assert {"nosuid", "nodev"} <= set(options)


def test_facts_of_an_image_treat_empty_and_null_alike() -> None:
    empty = {"Id": "x", "Config": {"Entrypoint": [], "Cmd": [], "User": "", "WorkingDir": "", "Volumes": {}}}
    null = {"Id": "x", "Config": {"Entrypoint": None, "Cmd": None, "User": None, "WorkingDir": None, "Volumes": None}}
    assert ImageFacts.from_inspect(empty) == ImageFacts.from_inspect(null) == ImageFacts.from_inspect({"Id": "x"})


STATE = {"Status": "exited", "Running": False, "OOMKilled": False, "StartedAt": "2026-01-01T00:00:00Z", "Error": ""}


def test_a_container_that_never_started_has_no_code() -> None:
    """N17: the engine says 0 of it."""
    end = exit_of_state({**STATE, "ExitCode": 0, "StartedAt": "0001-01-01T00:00:00Z"}, killed_by_us=False)
    assert end.code is None
    assert not end.started


def test_137_of_its_own_choice_and_137_of_ours_differ() -> None:
    """N16: the code alone tells nothing."""
    chosen = exit_of_state({**STATE, "ExitCode": 137}, killed_by_us=False)
    ours = exit_of_state({**STATE, "ExitCode": 137}, killed_by_us=True)
    assert (chosen.code, chosen.killed_by_us) == (137, False)
    assert (ours.code, ours.killed_by_us) == (137, True)
    assert exit_of_state({**STATE, "ExitCode": 7}, killed_by_us=True).killed_by_us is False


def test_a_workdir_that_is_no_volume_is_limited_all_the_same() -> None:
    host = _config(mounts=[], scratch=("/work",))["HostConfig"]
    assert f"size={256 << 20}" in host["Tmpfs"]["/work"]
    assert "nr_inodes=" in host["Tmpfs"]["/work"]
    assert "/data" in host["Tmpfs"], "and the image's other volumes stay masked"
