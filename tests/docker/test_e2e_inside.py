"""What an agent can see and reach from inside its container: it looks around and tells in its claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e import Finished, arci, descriptor, project, records

MARK = "mark-of-the-judges-4d1f"
"""Stands in the source of world and oracle, and nowhere else."""

_WORLD = f'''
    """{MARK}"""

    import os
    import socket
    import threading


    class World:
        def __init__(self):
            self.served = 0
            self.listener = socket.create_server(("127.0.0.1", 0))
            threading.Thread(target=self.serve, daemon=True).start()
            self.tools = {{"port": self.port, "look": self.look}}

        def serve(self):
            while True:
                peer, _ = self.listener.accept()
                self.served += 1
                peer.close()

        def port(self) -> int:
            """The port of this world's own server, which answers to whoever is on its side."""
            number = self.listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", number)) as peer:
                peer.recv(1)  # closed by then, and counted
            return number

        def look(self) -> dict:
            return {{"uid": os.getuid(), "recorder": reach(os.getppid())}}

        def snapshot(self):
            return {{"served": self.served}}


    def reach(pid):
        """What of the recorder's process is in reach of the environment's."""
        found = []
        for name in ("mem", "environ", "fd/0", "fd/1"):
            try:
                open("/proc/%d/%s" % (pid, name), "rb").close()
                found.append(name)
            except OSError:
                pass
        try:
            os.kill(pid, 0)
            found.append("kill")
        except OSError:
            pass
        return found


    def open_world(task, seed):
        return World()
'''

_ORACLE = f'''
    """{MARK}"""


    def judge(task, final_state):
        return final_state["served"] == 1
'''

_AGENT = """
    import glob
    import os
    import socket


    def attempt(call, *args):
        try:
            call(*args)
        except OSError as error:
            return type(error).__name__
        return "done"


    def status():
        lines = open("/proc/self/status").read().splitlines()
        return {line.split(":")[0]: line.split(":")[1].strip() for line in lines}


    def dial(host, port):
        socket.create_connection((host, port), 2).close()


    def unix_sockets():
        return [line.split()[7] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7]


    def dial_path(path):
        with socket.socket(socket.AF_UNIX) as dialler:
            dialler.connect("\\0" + path[1:] if path.startswith("@") else path)


    def write(path):
        open(path, "w").close()


    def holders(mark):
        found, walked = [], 0
        for root, directories, files in os.walk("/"):
            if root in ("/proc", "/sys"):
                directories[:] = []
                continue
            for name in files:
                path = os.path.join(root, name)
                try:
                    if os.path.isfile(path):
                        walked += 1
                        with open(path, "rb") as file:
                            if mark.encode() in file.read():
                                found.append(path)
                except OSError:
                    pass
        return {"found": found, "walked": walked}


    def processes():
        return [open(path).read().replace("\\0", " ") for path in glob.glob("/proc/[0-9]*/cmdline")]


    def run(task, tools, rng):
        mark = "-".join(task["mark"])  # in pieces, so that the task itself holds it nowhere
        port = tools.call("port")
        number = {"127.0.0.1": port, "::1": port, "172.17.0.1": 22, "10.0.0.1": 80, "8.8.8.8": 53, "2001::8": 53}
        places = ("/x", "/etc/x", "/opt/arci/x", "/usr/x", "/sys/x", "/proc/sys/kernel/x")
        own = (os.environ["ARCI_WORKDIR"], os.environ["HOME"], "/tmp")
        facts = ("CapEff", "CapPrm", "CapBnd", "CapInh", "NoNewPrivs")
        return {
            "environment": tools.call("look"),
            "interfaces": sorted(os.listdir("/sys/class/net")),
            "routes": open("/proc/net/route").read().splitlines()[1:],
            "dials": {host: attempt(dial, host, number[host]) for host in number},
            "names": [attempt(socket.getaddrinfo, name, 80) for name in ("example.org", "host.docker.internal")],
            "sockets": [path for path in ("/var/run/docker.sock", "/run/docker.sock") if os.path.exists(path)],
            "unix": {path: attempt(dial_path, path) for path in unix_sockets()},
            "status": {key: status()[key] for key in facts},
            "writes": {path: attempt(write, path) for path in places},
            "own": {path: attempt(write, path + "/x") for path in own},
            "mounts": open("/proc/mounts").read(),
            "environ": dict(os.environ),
            "processes": processes(),
            "devices": [attempt(os.mknod, "/tmp/device", 0o60600, os.makedev(8, 0)), attempt(open, "/dev/mem")],
            "search": holders(mark),
        }
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("inside")
    project(directory, {"world/world.py": _WORLD, "world/oracle.py": _ORACLE, "agents/agent.py": _AGENT})
    arm = {"agent": "agent:run", "context": "agents"}
    document = {
        "experiment_id": "inside",
        "task": {"mark": MARK.split("-")},
        "toolset": "world:open_world",
        "oracle": "oracle:judge",
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "images": {"project": {"build": {"context": "world"}}},
        "n_per_arm": 1,
        "isolation": "docker",
    }
    env = {"ARCI_TEST_HOST_ONLY": "host-only-value"}
    return arci("run", descriptor(directory, document), "--out", directory / "runs", "--json", env=env)


@pytest.fixture(scope="module")
def claim(ended: Finished) -> dict[str, Any]:
    trial = next(iter(records(ended.run)))
    shown = arci("show", ended.run, trial, "--json").json
    assert shown["record"]["outcome"] == "PASS", shown["record"]["detail"]
    found: dict[str, Any] = shown["record"]["agent"]["claim"]
    return found


def test_there_is_no_interface_but_loopback_and_no_route(claim: dict[str, Any]) -> None:
    assert claim["interfaces"] == ["lo"]
    assert claim["routes"] == []


def test_a_port_of_the_environment_cannot_be_reached_nor_anything_else(claim: dict[str, Any], ended: Finished) -> None:
    assert set(claim["dials"].values()) <= {"ConnectionRefusedError", "OSError", "TimeoutError"}
    assert claim["dials"]["127.0.0.1"] == "ConnectionRefusedError"
    assert {record["final_state"]["served"] for record in records(ended.run).values()} == {1}


def test_no_name_resolves(claim: dict[str, Any]) -> None:
    assert set(claim["names"]) == {"gaierror"}


def test_no_socket_of_the_engine_or_of_the_boundary_is_in_reach(claim: dict[str, Any]) -> None:
    assert claim["sockets"] == []
    assert "done" not in claim["unix"].values()  # the holder's own connection is seen here, and cannot be reached


def test_it_has_no_capability_and_can_gain_none(claim: dict[str, Any]) -> None:
    status = claim["status"]
    assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapInh")} == {0}
    assert status["NoNewPrivs"] == "1"
    assert "done" not in claim["devices"]


def test_the_root_cannot_be_written_and_its_own_places_can(claim: dict[str, Any]) -> None:
    assert "done" not in claim["writes"].values()
    assert set(claim["own"].values()) == {"done"}


def test_no_path_of_the_host_is_mounted(claim: dict[str, Any], ended: Finished) -> None:
    for line in claim["mounts"].splitlines():
        assert str(ended.run.parent.parent) not in line
        assert line.split()[1] not in ("/host", "/var/run", "/var/lib/docker")
    assert "/opt/arci" in claim["mounts"]


def test_nothing_of_the_host_s_environment_is_given(claim: dict[str, Any]) -> None:
    assert "host-only-value" not in json.dumps(claim)
    assert {"ARCI_SEED", "ARCI_TASK", "ARCI_WORKDIR", "HOME"} <= set(claim["environ"])
    assert not {"ARCI_TEST_HOST_ONLY", "DOCKER_HOST"} & set(claim["environ"])


def test_the_environment_cannot_reach_into_the_recorder(claim: dict[str, Any]) -> None:
    assert claim["environment"] == {"uid": claim["environment"]["uid"], "recorder": []}
    assert claim["environment"]["uid"] != 0


def test_it_sees_no_process_but_its_own(claim: dict[str, Any]) -> None:
    assert len(claim["processes"]) == 2
    assert "recorder" not in json.dumps(claim["processes"])


def test_the_source_of_world_and_oracle_is_nowhere(claim: dict[str, Any]) -> None:
    assert claim["search"]["walked"] > 1000
    assert claim["search"]["found"] == []


def test_the_search_would_find_it(tmp_path: Path, ended: Finished) -> None:
    """The same agent in an image that holds the world as well: so the walk above is no empty word."""
    root = ended.run.parent.parent
    document = json.loads((root / "arci.yaml").read_bytes()) | {"experiment_id": "together"}
    both = project(tmp_path, {"world.py": _WORLD, "oracle.py": _ORACLE, "agent.py": _AGENT})
    for arm in ("baseline", "candidate"):
        document[arm] = {"label": arm, "agent": "agent:run"}
    document["images"] = {}
    again = arci("run", descriptor(both, document), "--out", tmp_path / "runs", "--json")
    found = [record["agent"]["claim"]["search"]["found"] for record in records(again.run).values()]
    assert all({Path(path).name for path in paths} >= {"world.py", "oracle.py"} for paths in found)
    assert "the agent can read its judge" in again.stderr
