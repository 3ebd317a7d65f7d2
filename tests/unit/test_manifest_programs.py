"""MCP servers and command arms in a descriptor: what is refused, and what the manifest then says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from arci.errors import SpecError
from arci.manifest.descriptor import Descriptor, Overrides, json_schema, load_descriptor
from arci.manifest.images import image_requests
from arci.manifest.seal import seal
from arci.model.manifest import Manifest

SERVER = {"argv": ["server", "--in", "{workdir}"]}
COMMAND = {"label": "new", "command": {"argv": ["./agent", "{mcp_config}"]}}


def document(**changes: Any) -> dict[str, Any]:
    """A descriptor of one server and two commands; None takes a key away."""
    plain = {
        "experiment_id": "small",
        "mcp_server": SERVER,
        "oracle": "judge:check",
        "baseline": {"label": "old", "command": {"argv": ["./agent"]}},
        "candidate": COMMAND,
        **changes,
    }
    return {key: value for key, value in plain.items() if value is not None}


def load(tmp_path: Path, backend: str | None = None, **changes: Any) -> Descriptor:
    path = tmp_path / "arci.yaml"
    path.write_text(json.dumps(document(**changes)), encoding="utf-8")
    return load_descriptor(path, overrides=Overrides(backend=backend))


def problems(tmp_path: Path, **changes: Any) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, **changes)
    return [(p.path, f"{p.message} {p.hint or ''}") for p in caught.value.problems]


def server(**changes: Any) -> dict[str, Any]:
    return {"mcp_server": {**SERVER, **changes}}


def command(**changes: Any) -> dict[str, Any]:
    return {"candidate": {"command": {"argv": ["./agent"], **changes}}}


def test_one_server_has_every_default_written_out_and_is_single(tmp_path: Path) -> None:
    assert load(tmp_path).document["environment"] == {
        "kind": "mcp",
        "ref": None,
        "servers": [
            {
                "name": "server",
                "argv": ["server", "--in", "{workdir}"],
                "env": {},
                "has_image": False,
                "snapshot": None,
                "crash": "error",
            }
        ],
        "is_single": True,
    }


def test_several_servers_keep_their_order_and_are_not_single(tmp_path: Path) -> None:
    servers = {"notes": SERVER, "clock": {"image": "clock:1", "env": {"TZ": "UTC"}, "crash": "fail"}}
    found = load(tmp_path, mcp_server=None, mcp_servers=servers, isolation="docker")
    environment = found.document["environment"]
    assert [s["name"] for s in environment["servers"]] == ["notes", "clock"]
    assert not environment["is_single"]
    assert environment["servers"][1] | {"snapshot": None} == {
        "name": "clock",
        "argv": [],
        "env": {"TZ": "UTC"},
        "has_image": True,
        "snapshot": None,
        "crash": "fail",
    }
    requests = image_requests(found)
    assert requests["server:clock"].reference == "clock:1"
    assert "server:notes" not in requests


def test_one_of_several_is_still_named(tmp_path: Path) -> None:
    found = load(tmp_path, mcp_server=None, mcp_servers={"notes": SERVER})
    assert not found.document["environment"]["is_single"]


EMPTY: dict[str, Any] = {"tool": None, "arguments": {}, "uri": None, "paths": [], "ref": None}


@pytest.mark.parametrize(
    ("written", "sealed"),
    [
        ({"tool": "dump", "arguments": {"all": True}}, {"kind": "tool", "tool": "dump", "arguments": {"all": True}}),
        ({"resource": "notes://all"}, {"kind": "resource", "uri": "notes://all"}),
        ({"files": ["a.db", "out/**"]}, {"kind": "files", "paths": ["a.db", "out/**"]}),
        ("world:state", {"kind": "python", "ref": "world:state"}),
    ],
)
def test_each_way_to_take_a_snapshot_is_sealed(tmp_path: Path, written: Any, sealed: dict[str, Any]) -> None:
    (found,) = load(tmp_path, **server(snapshot=written)).document["environment"]["servers"]
    assert found["snapshot"] == {**EMPTY, **sealed}


def test_a_sealed_manifest_of_servers_and_commands_is_read_back(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "mcp_server": {"name": "files", "image": "files:1", "snapshot": {"files": ["x"]}},
        "isolation": "docker",
    }
    images = {key: {"sha256": "0" * 64} for key in ("baseline", "candidate", "boundary", "grader", "server:files")}
    manifest = Manifest.from_document(seal(load(tmp_path, **changes), images=images, runtime_sha256="1" * 64))
    (found,) = manifest.environment.servers
    assert (found.name, found.has_image, found.argv) == ("files", True, ())
    assert found.snapshot is not None
    assert found.snapshot.paths == ("x",)
    assert manifest.environment.needs_files
    assert manifest.image_digests("baseline")["server:files"] == "0" * 64


def test_a_command_arm_is_sealed_with_its_variables_of_both_places(tmp_path: Path) -> None:
    own = {"argv": ["run", "a b", "two\nlines", ""], "env": {"B": "2", "KEY": "${SECRET}"}, "infra_exit_codes": [9]}
    arms = load(tmp_path, candidate={"env": {"A": "1"}, "command": own}, secrets=["SECRET"]).document["arms"]
    assert arms["candidate"] == {
        "label": "candidate",
        "kind": "command",
        "ref": None,
        "argv": ["run", "a b", "two\nlines", ""],
        "env": {"A": "1", "B": "2"},
        "secret_env": {"KEY": "SECRET"},
        "infra_exit_codes": [9],
        "source": ".",
    }
    assert arms["baseline"]["infra_exit_codes"] == [75]


@pytest.mark.parametrize(
    ("arm", "label"),
    [
        ({"command": {"argv": ["node", "agent.mjs"]}}, "node agent.mjs"),
        ({"command": {"argv": ["sh", "-c", "x" * 100]}, "context": "."}, "."),
        ({"command": {}, "image": "agents:2"}, "agents:2"),
        ({"command": {}}, "candidate"),
        ({"label": "mine", "command": {}, "image": "agents:2"}, "mine"),
    ],
)
def test_an_arm_without_a_label_is_called_by_what_tells_it_apart(tmp_path: Path, arm: Any, label: str) -> None:
    assert load(tmp_path, candidate=arm, isolation="docker").document["arms"]["candidate"]["label"] == label


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"toolset": "world:make"}, "mcp_server", "stands beside toolset"),
        ({"mcp_servers": {"a": SERVER}}, "mcp_servers", "stands beside mcp_server"),
        ({"mcp_server": None}, "toolset", "is missing"),
        ({"mcp_server": None, "mcp_servers": {}}, "mcp_servers", "at least 1"),
        ({"mcp_server": None, "mcp_servers": {"a b": SERVER}}, "mcp_servers.a b", "letters, digits"),
        ({"mcp_server": None, "mcp_servers": {"tools": SERVER}}, "mcp_servers.tools", "toolset is served under"),
        ({"mcp_server": None, "mcp_servers": {"a": {**SERVER, "name": "b"}}}, "mcp_servers.a.name", "leave it out"),
        ({"mcp_server": {}}, "mcp_server.argv", "argv or image is required"),
        (server(name="../up"), "mcp_server.name", "letters, digits"),
        (server(name="a" * 65), "mcp_server.name", "at most 64"),
        (server(argv=[]), "mcp_server.argv", "is empty"),
        (server(argv=[""]), "mcp_server.argv[0]", "is empty"),
        (server(argv=["a\0b"]), "mcp_server.argv[0]", "NUL"),
        (server(argv="run me"), "mcp_server.argv", "a list is required"),
        (server(image="files:1"), "mcp_server.image", "needs a container"),
        (server(env={"ARCI_TASK": "x"}), "mcp_server.env.ARCI_TASK", "ARCI's own"),
        (server(env={"KEY": "${SECRET}"}), "mcp_server.env.KEY", "servers are given none"),
        (server(crash="ignore"), "mcp_server.crash", "error, fail"),
        (server(snapshot={}), "mcp_server.snapshot", "exactly one of tool, resource and files"),
        (server(snapshot={"tool": "a", "files": ["b"]}), "mcp_server.snapshot", "has tool and files"),
        (server(snapshot={"resource": "a:b", "arguments": {"x": 1}}), "mcp_server.snapshot.arguments", "a tool's"),
        (server(snapshot={"files": []}), "mcp_server.snapshot.files", "at least one path"),
        (server(snapshot={"files": ["/data/x.db"]}), "mcp_server.snapshot.files[0]", "{workdir}"),
        (server(snapshot={"files": ["{workdir}/x"]}), "mcp_server.snapshot.files[0]", "relative path"),
        (server(snapshot={"files": ["a/../../b"]}), "mcp_server.snapshot.files[0]", "leaves the server's"),
        (server(snapshot={"files": ["."]}), "mcp_server.snapshot.files[0]", "all of it"),
        (server(snapshot={"files": ["a", "a"]}), "mcp_server.snapshot.files[1]", "twice"),
        (server(snapshot="not a reference"), "mcp_server.snapshot", "module:function"),
        (server(snapshot=["x"]), "mcp_server.snapshot", "module:function, or a mapping"),
        (server(snapshot={"tools": "x"}), "mcp_server.snapshot.tools", "tool, arguments, resource, files"),
        (command(argv=None), "candidate.command.argv", "process isolation has no image"),
        (command(argv=[]), "candidate.command.argv", "is empty"),
        (command(infra_exit_codes=[0]), "candidate.command.infra_exit_codes[0]", "1 or more"),
        (command(infra_exit_codes=[75, 75]), "candidate.command.infra_exit_codes[1]", "twice"),
        (command(env={"ARCI_SEED": "1"}), "candidate.command.env.ARCI_SEED", "ARCI's own"),
        (command(env={"KEY": "${NOBODY}"}), "candidate.command.env.KEY", "not declared"),
        (command(shell=True), "candidate.command.shell", "not a known key"),
        ({"candidate": {"command": {"argv": ["a"]}, "agent": "a:b"}}, "candidate.command", "beside agent"),
        ({"candidate": {"command": {"argv": ["a"], "env": {"A": "1"}}, "env": {"A": "2"}}}, "", "also set in"),
    ],
)
def test_one_mistake_is_one_problem_at_its_path(tmp_path: Path, changes: Any, path: str, words: str) -> None:
    found = problems(tmp_path, **changes)
    assert len(found) >= 1
    assert path in ("", found[0][0])
    assert words in found[0][1]


def test_several_mistakes_come_together(tmp_path: Path) -> None:
    found = problems(tmp_path, **server(argv=[], image="x"), **command(argv=[]))
    assert [path for path, _ in found] == ["mcp_server.argv", "mcp_server.image", "candidate.command.argv"]


def test_a_command_without_argv_is_an_images_own_under_docker_alone(tmp_path: Path) -> None:
    arms = load(tmp_path, isolation="docker", **command(argv=None)).document["arms"]
    assert arms["candidate"]["argv"] == []
    with pytest.raises(SpecError, match="has no image whose own command"):
        load(tmp_path, backend="process", isolation="docker", **command(argv=None))


def test_an_agents_image_that_also_judges_is_told_for_commands_too(tmp_path: Path) -> None:
    shared = load(tmp_path, isolation="docker")
    assert any("also holds world or oracle" in warning for warning in shared.warnings)
    apart = load(
        tmp_path, isolation="docker", candidate={**COMMAND, "image": "a:1"}, baseline={**COMMAND, "image": "b"}
    )
    assert not any("also holds world or oracle" in warning for warning in apart.warnings)


def test_tools_of_several_servers_are_named_with_their_server(tmp_path: Path) -> None:
    contract = {"oracle": "judge:check", "forbidden_tools": ["notes.drop"], "max_calls_per_tool": {"clock.now": 2}}
    faults = [{"id": "slow", "fault": {"name": "latency", "tool": "notes.add"}}]
    found = load(tmp_path, oracle=None, contract=contract, conditions=faults).document
    assert found["contract"]["forbidden_tools"] == ["notes.drop"]
    assert found["conditions"][0]["faults"][0]["tool"] == "notes.add"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mcp_server": None, "mcp_servers": {"a-1": SERVER}},
        server(snapshot={"files": ["x"]}),
        server(snapshot="world:state"),
        {"candidate": {"command": {}, "image": "a:1"}, "isolation": "docker"},
    ],
)
def test_the_schema_takes_what_the_program_takes(tmp_path: Path, changes: dict[str, Any]) -> None:
    load(tmp_path, **changes)
    jsonschema.validate(document(**changes), json_schema())


@pytest.mark.parametrize("changes", [{"mcp_servers": {"a b": SERVER}}, server(crash="x"), server(argv="x")])
def test_the_schema_refuses_what_the_program_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(**changes), json_schema())
