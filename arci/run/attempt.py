"""The state of one attempt at a trial: what was seen, measured and printed. Filled by the choreography."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.base import Exit, Guest
from arci.model.manifest import Manifest
from arci.model.trial import Blame, Role, Trial
from arci.run.conversation import Conversation
from arci.run.evidence import Evidence
from arci.run.facts import Failure, Grade, TrialFacts
from arci.run.fingerprint import bad_tool, telling_line
from arci.run.logs import GuestLog
from arci.run.outfit import server_names
from arci.run.pulse import Pulse
from arci.run.replay import Replay, Replayed, miss_text
from arci.run.upstreams import Upstreams
from arci.run.witness import SEES_NOTHING, Witness

__all__ = ["PHASES", "Attempt"]

PHASES = ("create", "start", "ready", "agent", "seal", "grade")


class Attempt:
    """`number` is 1-based. `phases`: seconds spent in each, 0 for those that were not reached."""

    def __init__(
        self,
        trial: Trial,
        manifest: Manifest,
        number: int,
        witness: Witness = SEES_NOTHING,
        replay: Replay | None = None,
    ) -> None:
        self.trial = trial
        self.replay = replay
        self.manifest = manifest
        self.number = number
        self._witness = witness
        self.arm = manifest.arms[trial.arm]
        self.agent_token = secrets.token_hex(16)
        self.status_token = secrets.token_hex(16)
        self.environment_token = secrets.token_hex(16)
        self.pulse = Pulse()
        self.conversation = Conversation(witness.event)
        self.upstreams = Upstreams(self.conversation, self.pulse)
        self.servers: dict[str, Guest] = {}
        """Servers in containers of their own, as far as they were started."""
        self.server_ends: dict[str, str] = {}
        """How each of them ended: 143 and 137 where it was told to by TERM or KILL."""
        self.initial_state: dict[str, Any] | None = None
        self.final_state: dict[str, Any] | None = None
        self.phases = dict.fromkeys(PHASES, 0.0)
        self.logs: dict[str, GuestLog] = {}
        self.agent_was_asked = False
        """The back end was asked to start the agent."""
        self.was_heard = False
        """The control channel was open until the agent was gone: what it did not report did not happen."""
        self.exit: Exit | None = None
        self.deadline: str | None = None
        self.agent_seconds = 0.0
        """By the clock that `max_seconds` is held against: it stands still while a request waits for its pace."""
        self.evidence: Evidence | None = None
        self.evidence_excess: str | None = None
        self.grade: Grade | None = None
        self.is_complete = False
        """The choreography came to its end: it was not cancelled on the way."""
        self.left_behind: str | None = None
        """What the back end could not remove afterwards, in its own words."""

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Adds the time spent within to `phase`; an EngineError within becomes a trouble and ends the block."""
        begun = anyio.current_time()
        try:
            yield
        except EngineError as error:
            self.conversation.trouble(Blame.ENGINE, str(error))
            self.pulse.beat()
        finally:
            self.phases[phase] += anyio.current_time() - begun

    def log(self, guest: str) -> GuestLog:
        """The log of a guest, made on first use: of a role, or of a server's container."""
        name = str(guest)
        if name not in self.logs:
            self.logs[name] = GuestLog(partial(self._witness.output, name))
        return self.logs[name]

    @property
    def has_trouble(self) -> bool:
        return bool(self.conversation.troubles)

    @property
    def agent_ended(self) -> bool:
        """The agent's process or its guest is known to be gone."""
        init = self.conversation.init
        is_told = init.code is not None or init.signal is not None or init.exec_errno is not None
        return self.exit is not None or is_told or init.is_lost

    @property
    def may_be_made_again(self) -> bool:
        """Nothing of the agent was observed: its process was never asked for, or certainly did not start."""
        init, end = self.conversation.init, self.exit
        if init.started:
            return False
        never_ran = init.exec_errno is not None or (end is not None and not end.started)
        return not self.agent_was_asked or never_ran or self.was_heard

    @property
    def agent_is_judged(self) -> bool:
        said = self.conversation
        return said.latched is not None or said.replay_miss is not None or self.deadline is not None

    @property
    def agent_results(self) -> list[dict[str, Any]]:
        return [event for event in self.conversation.events if event["kind"] == "agent_result"]

    @property
    def claim(self) -> Any:
        """What a Python agent returned, as it claims; None if it returned nothing."""
        return next((event["claim"] for event in self.agent_results if event.get("claim") is not None), None)

    @property
    def failure(self) -> Failure | None:
        """What a Python agent raised."""
        for event in self.agent_results:
            failure = event.get("failure")
            if isinstance(failure, dict):
                return Failure(str(failure.get("kind")), str(failure.get("message")))
        return None

    @property
    def required_missing(self) -> tuple[str, ...]:
        """Required tools that were never called."""
        called = {event.get("tool") for event in self.conversation.events if event["kind"] == "tool_start"}
        servers = server_names(self.manifest.environment)
        return tuple(t for t in self.manifest.contract.required_tools if not _was_called(t, called, servers))

    @property
    def replayed(self) -> Replayed | None:
        """How it followed the recording; None where none is replayed."""
        said = self.conversation
        was_ready = said.init.started and (self.arm.kind != "python" or said.is_worker_ready)
        if self.replay is None:
            return None
        return Replayed(said.replay_miss, said.replay_leftover, said.replay_leftover_count, was_ready)

    def facts(self) -> TrialFacts:
        """What `classify` judges."""
        said = self.conversation
        stderr = self.log(Role.AGENT).streams["stderr"].text()
        return TrialFacts(
            arm_kind=self.arm.kind,
            infra_exit_codes=self.arm.infra_exit_codes,
            troubles=tuple(said.troubles),
            may_not_crash=frozenset(s.name for s in self.manifest.environment.servers if s.crash == "fail"),
            replay_miss=None if said.replay_miss is None else miss_text(said.replay_miss),
            latched=said.latched,
            deadline=self.deadline,
            init=said.init,
            exit=self.exit,
            has_answer=self.claim is not None,
            failure=self.failure,
            violations=tuple(event for event in said.events if event["kind"] == "violation"),
            required_missing=self.required_missing,
            evidence_excess=self.evidence_excess,
            grade=self.grade,
            error_line=telling_line(stderr),
            bad_tool=bad_tool(said.events),
        )


def _was_called(tool: str, called: Collection[Any], servers: Collection[str]) -> bool:
    """A tool that one server alone has is recorded under its own name, whatever it is called by."""
    server, _, own = tool.partition(".")
    return tool in called or (server in servers and own in called)
