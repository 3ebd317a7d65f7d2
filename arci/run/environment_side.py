"""Servers in containers of their own: started once the recorder listens, explained when they die, ended before the
grader; and the state that servers leave in files."""

from __future__ import annotations

import contextlib
import tarfile
from dataclasses import replace
from typing import Any

from anyio.abc import TaskGroup

from arci.errors import EngineError
from arci.isolation.base import Exit, Guest, Pod, ProcessSpec
from arci.isolation.groups import task_group
from arci.model.canonical import canonical
from arci.model.manifest import Environment, Manifest, Server
from arci.model.trial import Blame, Role
from arci.run.attempt import Attempt
from arci.run.collecting import fetch_into
from arci.run.evidence import Evidence, EvidenceRefused, fetch_paths
from arci.run.facts import Trouble
from arci.run.outfit import task_variable
from arci.run.places import server_argv, server_task_file, server_workdir
from arci.run.states import StateMissing, file_servers, joined_state

__all__ = [
    "end_environment",
    "ending_s",
    "environment_path",
    "explain_deaths",
    "log_name",
    "server_process",
    "start_servers",
    "take_initial_state",
]

_SLACK_S = 5.0
"""How much later than the recorder, which names the culprit, the host gives up waiting."""
_STOP_S = 10.0
"""From the end of a server's stdin to its KILL (5 s and 2 s), with some slack."""
_EXIT_S = 2.0
"""How long the engine may take to tell of an end that the recorder has told of."""


def log_name(server: str) -> str:
    """Under which the output of a server's own container is kept."""
    return f"{Role.ENVIRONMENT}:{server}"


def environment_path(environment: Environment, server: str | None) -> str:
    """Where a descriptor says what serves the tools, or what starts the server that broke."""
    if environment.kind == "toolset":
        return "environment"
    key = "mcp_server" if environment.is_single else "mcp_servers"
    declared = next((s for s in environment.servers if s.name == server), None)
    if declared is None:
        return key
    place = key if environment.is_single else f"{key}.{declared.name}"
    return f"{place}.argv" if declared.argv else f"{place}.image"


async def start_servers(pod: Pod, attempt: Attempt, group: TaskGroup) -> None:
    """One guest for each server with an image; they dial the recorder, which must have been told to begin."""
    servers = attempt.manifest.own_images
    if servers and attempt.replay is None:
        with attempt.measure("start"):
            async with task_group() as starting:
                for server in servers:
                    starting.start_soon(_start, pod, attempt, group, server)


async def _start(pod: Pod, attempt: Attempt, group: TaskGroup, server: Server) -> None:
    guest = await pod.start(Role.ENVIRONMENT, server_process(pod, attempt, server))
    attempt.servers[server.name] = guest
    group.start_soon(attempt.log(log_name(server.name)).drain, guest)


def server_process(pod: Pod, attempt: Attempt, server: Server) -> ProcessSpec:
    """What is started as a server. It belongs to the trusted side: it is told the trial's own seed."""
    trial, workdir, task_file = attempt.trial, server_workdir(pod, server.name), server_task_file(pod, server.name)
    env = {"HOME": workdir, "ARCI_TASK_FILE": task_file, "ARCI_SEED": str(trial.seed)}
    return ProcessSpec(
        server_argv(pod, server, trial.seed),
        {**env, **task_variable(trial), **server.env},
        serve=(server.name, attempt.environment_token),
        files={task_file: canonical(trial.task) + b"\n"},
        directories=(workdir,),
    )


async def explain_deaths(attempt: Attempt) -> None:
    """Adds to each trouble of a server in a container how that ended and the last that it printed."""
    troubles = attempt.conversation.troubles
    for position, trouble in enumerate(troubles):
        guest = attempt.servers.get(trouble.server or "")
        if guest is not None and trouble.blame is Blame.ENVIRONMENT and not trouble.how:
            troubles[position] = await _explained(attempt, trouble, guest)


async def _explained(attempt: Attempt, trouble: Trouble, guest: Guest) -> Trouble:
    end: Exit | None = None
    with contextlib.suppress(EngineError):  # the trouble stands without it
        end = await guest.wait(_EXIT_S)
    log = attempt.log(log_name(trouble.server or ""))
    if end is not None:
        await attempt.pulse.until(lambda: not log.is_open, _EXIT_S)
    stderr = trouble.stderr or log.streams["stderr"].text()[-4000:]
    if end is None:
        return replace(trouble, stderr=stderr)
    how = _how(end)
    return replace(trouble, detail=f"{trouble.detail}: its container ended with {how}", stderr=stderr, how=how)


def _how(end: Exit) -> str:
    if not end.started or end.code is None:
        return f"an unknown code {end.detail}".rstrip()
    return f"exit status {end.code}" if end.signal is None else f"killed by signal {end.signal}"


def ending_s(manifest: Manifest) -> float:
    """How much longer than a toolset servers may take to end: each its snapshots, and its way from EOF to KILL."""
    return snapshots_s(manifest) + len(manifest.environment.servers) * _STOP_S


def snapshots_s(manifest: Manifest) -> float:
    """How long the snapshots of all servers may take, one after the other."""
    return len(manifest.environment.servers) * 2 * manifest.budgets.tool_seconds


async def take_initial_state(pod: Pod, attempt: Attempt) -> None:
    """The state before the agent. A toolset's is not waited for: it serves one request at a time, this one first."""
    environment, said = attempt.manifest.environment, attempt.conversation
    if attempt.replay is not None:
        attempt.initial_state = attempt.replay.initial_state
        return
    if environment.kind == "toolset" or attempt.has_trouble:
        return
    limit_s = snapshots_s(attempt.manifest) + _SLACK_S
    with attempt.measure("ready"):
        await attempt.pulse.until(
            lambda: said.initial_state is not None or said.is_closed or attempt.has_trouble, limit_s
        )
        if said.initial_state is None and not attempt.has_trouble:
            said.trouble(Blame.HARNESS, f"the boundary told no initial state within {limit_s:g} s")
    if not attempt.has_trouble:
        attempt.initial_state = _joined(attempt, said.initial_state, await read_files(pod, attempt, "ready"))


async def end_environment(pod: Pod, attempt: Attempt) -> None:
    """After the recording: servers in containers are gone, deaths explained, and the final state is whole."""
    if attempt.replay is not None:
        attempt.final_state = attempt.replay.final_state
        return
    await explain_deaths(attempt)
    await _stop_servers(attempt)
    said = attempt.conversation
    files = {} if attempt.has_trouble else await read_files(pod, attempt, "seal")
    attempt.final_state = _joined(attempt, said.final_state, files)
    if attempt.manifest.environment.kind == "toolset":
        attempt.initial_state = said.initial_state


def _joined(attempt: Attempt, told: dict[str, Any] | None, files: dict[str, Any]) -> dict[str, Any] | None:
    if told is None:
        return None
    try:
        return joined_state(attempt.manifest.environment, told, files)
    except StateMissing as missing:
        if not attempt.has_trouble:
            attempt.conversation.trouble(Blame.HARNESS, str(missing))
        return None


async def _stop_servers(attempt: Attempt) -> None:
    """Every process of a server's container is gone when this returns, unless the engine failed."""
    if attempt.servers:
        with attempt.measure("seal"):
            async with task_group() as stopping:
                for name, guest in attempt.servers.items():
                    stopping.start_soon(_stop, attempt, name, guest)


async def _stop(attempt: Attempt, name: str, guest: Guest) -> None:
    attempt.server_ends[name] = _how(await guest.stop(0.0))


async def read_files(pod: Pod, attempt: Attempt, phase: str) -> dict[str, Any]:
    """Server -> `{"files": {path: {"text"} or {"base64"}}}` as they are now. What is refused before the agent is the
    environment's fault; afterwards the agent's, which could else void its own trial by a huge file."""
    states: dict[str, Any] = {}
    for server in file_servers(attempt.manifest.environment):
        with attempt.measure(phase):
            try:
                states[server.name] = {"files": await _files(pod, server)}
            except EvidenceRefused as refusal:
                reason = f"{server.name}: snapshot: {str(refusal).removeprefix('evidence: ')}"
                if phase == "ready":
                    attempt.conversation.trouble(Blame.ENVIRONMENT, reason)
                else:
                    attempt.evidence_excess, states[server.name] = reason, {"files": {}}
            except tarfile.TarError as error:
                attempt.conversation.trouble(Blame.ENGINE, f"{server.name}: an archive that cannot be read: {error}")
    return states


async def _files(pod: Pod, server: Server) -> dict[str, Any]:
    assert server.snapshot is not None
    below, found = f"{server.name}/", Evidence()
    patterns = [f"{below}{path}" for path in server.snapshot.paths]
    for path in fetch_paths(patterns):
        await fetch_into(pod, Role.ENVIRONMENT, path, patterns, found)
    return {path.removeprefix(below): content for path, content in found.for_grader().items()}
