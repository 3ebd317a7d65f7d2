"""What an agent is given to work with: variables, files, and what its command line may ask for. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arci.errors import EngineError
from arci.isolation.base import Pod
from arci.manifest.schedule import agent_seed
from arci.model.canonical import canonical
from arci.model.manifest import Environment, Manifest, UpstreamEnv
from arci.model.trial import Role, Trial
from arci.run.places import http_url, upstream_url

__all__ = [
    "TASK_ENV_BYTES",
    "TOOLSET_SERVER",
    "Outfit",
    "outfit",
    "server_names",
    "task_variable",
    "upstream_variables",
]

TASK_ENV_BYTES = 32 * 1024
"""A task of more bytes is not put into an environment variable."""
TOOLSET_SERVER = "tools"
"""The name that a toolset is served under."""


@dataclass(frozen=True, slots=True)
class Outfit:
    """`places`: placeholder -> what stands for it; one that cannot be had (`mcp_url`) is not in it."""

    env: Mapping[str, str]
    files: Mapping[str, bytes]
    places: Mapping[str, str]


def server_names(environment: Environment) -> tuple[str, ...]:
    """What an agent calls the servers, in the descriptor's order."""
    return tuple(server.name for server in environment.servers) or (TOOLSET_SERVER,)


def outfit(pod: Pod, trial: Trial, environment: Environment, token: str, listening: Sequence[str]) -> Outfit:
    """Of one trial's agent. `token`: what its connections say. `listening`: addresses that the recorder has told."""
    workdir, scratch, seed = pod.workdir(Role.AGENT), pod.scratch(Role.AGENT), str(agent_seed(trial))
    task_file, config_file = f"{scratch}/arci/task.json", f"{scratch}/arci/mcp.json"
    names = server_names(environment)
    commands = {name: (pod.shim, "stdio", pod.dial, token, name) for name in names} if pod.shim is not None else {}
    address = _http_address(pod, listening)
    urls = {name: http_url(address, token, name) for name in names} if address is not None else {}
    env = {"ARCI_SEED": seed, "ARCI_WORKDIR": workdir, "HOME": workdir, "ARCI_TASK_FILE": task_file}
    env |= task_variable(trial)
    env |= {"ARCI_MCP_CONFIG": config_file}
    env |= {"ARCI_MCP_COMMAND": " ".join(commands[names[0]])} if commands else {}
    env |= {"ARCI_MCP_URL": urls[names[0]], "ARCI_MCP_URLS": json.dumps(urls)} if urls else {}
    places = {"workdir": workdir, "seed": seed, "task_file": task_file, "mcp_config": config_file}
    places |= {"mcp_url": urls[names[0]]} if urls else {}
    config = {name: _client_entry(commands.get(name), urls.get(name)) for name in names}
    files = {task_file: canonical(trial.task) + b"\n", config_file: canonical({"mcpServers": config}) + b"\n"}
    return Outfit(env, files, {**places, "source": pod.source(Role.AGENT)})


def upstream_variables(pod: Pod, manifest: Manifest, token: str, listening: Sequence[str]) -> dict[str, str]:
    """Base URL and token of each upstream, under the agent's own names. EngineError where there is no HTTP address."""
    upstreams: list[tuple[str, UpstreamEnv]] = [(model.name, model.env) for model in manifest.models]
    if manifest.decisions is not None:
        upstreams.append((manifest.decisions.name, manifest.decisions.env))
    if not upstreams:
        return {}
    address = _http_address(pod, listening)
    if address is None:
        raise EngineError("start agent", "models are called over HTTP, and the recorder has told no address for it")
    urls = {env.base_url: upstream_url(address, name) for name, env in upstreams}
    return {**urls, **{env.key: token for _, env in upstreams}}


def _http_address(pod: Pod, listening: Sequence[str]) -> str | None:
    return next((a for a in (pod.dial, *listening) if a.startswith("tcp:")), None)


def task_variable(trial: Trial) -> dict[str, str]:
    task = json.dumps(trial.task, ensure_ascii=False)
    return {"ARCI_TASK": task} if len(task.encode("utf-8", "surrogatepass")) <= TASK_ENV_BYTES else {}


def _client_entry(command: Sequence[str] | None, url: str | None) -> dict[str, object]:
    """As MCP clients read it; over HTTP where there is no `arci-init` for this machine."""
    if command is not None:
        return {"command": command[0], "args": list(command[1:])}
    return {"type": "http", "url": url}
