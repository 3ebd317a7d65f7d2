"""What an agent is given: variables, files, placeholders, with one server, several, or a toolset."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from docs_pages import page, tables
from trials import ANSWERED, first_trial, make_manifest, make_trial, mcp, mcp_server, outcome, shell_arms

from arci.isolation.base import ProcessSpec
from arci.isolation.fake import FakeIsolation, ScriptedTrial
from arci.isolation.script import Exit
from arci.manifest.schedule import agent_seed
from arci.model.manifest import Manifest
from arci.model.trial import Role
from arci.run.outfit import TASK_ENV_BYTES, Outfit, outfit, server_names
from arci.run.places import filled, http_url

DOCKER_DIAL = "tcp:127.0.0.1:47112"
LISTENING = ("unix:/arci/socket", "tcp:127.0.0.1:40001")


@dataclass
class Place:
    """A pod, as far as paths and addresses go."""

    dial: str = "unix:/arci/socket"
    listen: str = "unix:/arci/socket"
    listen_http: str | None = "tcp:127.0.0.1:0"
    shim: str | None = "/bin/arci-init"

    def workdir(self, role: Role) -> str:
        return f"/{role}"

    def scratch(self, role: Role) -> str:
        return f"/{role}/tmp"

    def source(self, role: Role) -> str:
        return f"/{role}/source"


def given(place: Place, listening: tuple[str, ...] = LISTENING, **changes: Any) -> Outfit:
    manifest = make_manifest(**changes)
    pod: Any = place
    return outfit(pod, first_trial(manifest), manifest.environment, "t0ken", listening)


def config(found: Outfit) -> Any:
    return json.loads(found.files[found.env["ARCI_MCP_CONFIG"]])["mcpServers"]


def test_a_toolset_is_one_server_of_the_name_tools() -> None:
    found = given(Place())
    assert found.env["ARCI_MCP_COMMAND"] == "/bin/arci-init stdio unix:/arci/socket t0ken tools"
    assert config(found) == {
        "tools": {"command": "/bin/arci-init", "args": ["stdio", "unix:/arci/socket", "t0ken", "tools"]}
    }
    assert found.env["ARCI_MCP_URL"] == "http://127.0.0.1:40001/t0ken/mcp/tools"


def test_where_the_agent_dials_tcp_the_same_port_takes_http() -> None:
    found = given(Place(dial=DOCKER_DIAL, listen_http=None), listening=("unix:/run/arci/x",))
    assert found.env["ARCI_MCP_URL"] == "http://127.0.0.1:47112/t0ken/mcp/tools"
    assert found.places["mcp_url"] == found.env["ARCI_MCP_URL"]


def test_several_servers_have_an_entry_each_and_the_first_is_the_plain_one() -> None:
    found = given(Place(), environment=mcp(mcp_server("notes"), mcp_server("clock")))
    assert list(config(found)) == ["clock", "notes"]
    assert config(found)["clock"]["args"][-1] == "clock"
    assert found.env["ARCI_MCP_COMMAND"].endswith(" notes")
    urls = json.loads(found.env["ARCI_MCP_URLS"])
    assert list(urls) == ["notes", "clock"]
    assert found.env["ARCI_MCP_URL"] == urls["notes"] == http_url(LISTENING[1], "t0ken", "notes")


def test_without_a_shim_for_the_machine_clients_are_sent_to_http() -> None:
    found = given(Place(shim=None))
    assert "ARCI_MCP_COMMAND" not in found.env
    assert config(found) == {"tools": {"type": "http", "url": "http://127.0.0.1:40001/t0ken/mcp/tools"}}


def test_the_task_is_always_a_file_and_a_variable_only_while_it_is_small() -> None:
    task = {"text": "é\u2028" + "x" * TASK_ENV_BYTES}
    found = given(Place(), tasks=[{"id": "long", "task": task}])
    assert json.loads(found.files[found.env["ARCI_TASK_FILE"]]) == task
    assert "ARCI_TASK" not in found.env
    small = given(Place())
    assert json.loads(small.env["ARCI_TASK"]) == json.loads(small.files[small.env["ARCI_TASK_FILE"]])


def test_files_lie_outside_the_workdir_whose_evidence_is_the_agents_alone() -> None:
    found = given(Place())
    assert set(found.files) == {"/agent/tmp/arci/task.json", "/agent/tmp/arci/mcp.json"}


def test_the_descriptors_page_names_every_variable_and_placeholder() -> None:
    text, found = page("docs/reference/descriptor.md"), given(Place())
    rows = tables(text)["What an agent is given"]
    assert {row[0].strip("`") for row in rows} == set(found.env) - {"HOME"}
    assert all(f"`{{{name}}}`" in text for name in found.places)


def test_placeholders_are_filled_in_once_and_other_braces_stay() -> None:
    values = {"workdir": "/w/{seed}", "seed": "7"}
    argv = ("run", "--in={workdir}", "{seed}{seed}", "{nobody}", '{"a": {}}', "{}", "{Seed}")
    assert filled(argv, values) == ("run", "--in=/w/{seed}", "77", "{nobody}", '{"a": {}}', "{}", "{Seed}")


def test_the_names_of_servers_come_in_the_descriptors_order() -> None:
    assert server_names(make_manifest().environment) == ("tools",)
    environment = make_manifest(environment=mcp(mcp_server("b"), mcp_server("a"))).environment
    assert server_names(environment) == ("b", "a")


async def started_agent(manifest: Manifest, script: ScriptedTrial) -> ProcessSpec:
    isolation = FakeIsolation(script)
    result = await make_trial(isolation, manifest)
    assert outcome(result) == "PASS completed None", result.record["detail"]
    return next(guest.process for guest in isolation.started if guest.role is Role.AGENT)


@pytest.mark.anyio
async def test_a_command_gets_its_placeholders_and_an_images_own_command_is_left_alone() -> None:
    argv = ("agent", "--task", "{task_file}", "--mcp={mcp_config}", "{mcp_url}", "{workdir}", "{seed}", "{source}/a")
    manifest = make_manifest(arms=shell_arms(*argv))
    process = await started_agent(manifest, ScriptedTrial())
    seed = str(agent_seed(first_trial(manifest)))
    tmp, url = "/arci/agent/tmp/arci", process.env["ARCI_MCP_URL"]
    paths = (f"--mcp={tmp}/mcp.json", url, "/arci/agent/work", seed, "/arci/agent/source/a")
    assert process.argv == ("agent", "--task", f"{tmp}/task.json", *paths)
    arms = {name: {**arm, "argv": []} for name, arm in shell_arms().items()}
    own = FakeIsolation(lambda plan, role: ScriptedTrial()(plan, role))
    assert outcome(await make_trial(own, make_manifest(arms=arms))) == "PASS completed None"
    assert own.started[1].process.argv == ()


@pytest.mark.anyio
async def test_a_python_agent_gets_the_same_and_the_descriptors_variables_win() -> None:
    arms = shell_arms(kind="python", ref="agents:run", argv=[], env={"HOME": "/elsewhere"})
    process = await started_agent(make_manifest(arms=arms), ScriptedTrial(events=[ANSWERED]))
    assert process.env["HOME"] == "/elsewhere"
    assert "stdio" in process.env["ARCI_MCP_COMMAND"]
    assert set(process.files) == {process.env["ARCI_TASK_FILE"], process.env["ARCI_MCP_CONFIG"]}


@pytest.mark.anyio
async def test_a_url_that_nobody_listens_on_is_no_failure_of_the_agents() -> None:
    deaf = ScriptedTrial(ready={"type": "ready", "tools": []}, agent=(Exit(0),))
    result = await make_trial(deaf, make_manifest(arms=shell_arms("agent", "{mcp_url}")))
    assert result.record["outcome"] == "ERROR"
    assert "{mcp_url}" in result.record["detail"]
