"""What the recorder of one trial has said so far, and in which order things broke. Pure: lines in, state out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from arci.errors import ArciError
from arci.model.trial import Blame
from arci.run.facts import InitReport, Trouble
from arci.run.frames import FrameError, parse_object

__all__ = ["Conversation"]

_HOST_KEYS = frozenset({"trial_id", "seq", "sha256"})
"""Keys of an event that the host alone writes."""


class Conversation:
    """State of one control channel. After a frame that breaks the protocol nothing more is listened to."""

    def __init__(self, witness: Callable[[Mapping[str, Any]], None] = lambda event: None) -> None:
        """`witness` is shown each event as it comes."""
        self._witness = witness
        self.is_ready = False
        self.tools: list[dict[str, Any]] = []
        self.servers: list[dict[str, Any]] = []
        """What each server said of itself: `name`, `era`, `revision`, `info`."""
        self.listening: tuple[str, ...] = ()
        """Addresses that the recorder listens on, ports told."""
        self.initial_state: dict[str, Any] | None = None
        """As `final_state`, before the agent."""
        self.init = InitReport()
        self.is_worker_ready = False
        self.latched: str | None = None
        self.replay_miss: dict[str, Any] | None = None
        """Of a replay: the first call that the recording has no answer to."""
        self.replay_leftover: tuple[int, ...] = ()
        """The first of the recorded calls that were not made, and how many there are."""
        self.replay_leftover_count = 0
        self.events: list[dict[str, Any]] = []
        self.final_state: dict[str, Any] | None = None
        self.has_ended = False
        self.is_closed = False
        """Nothing more will come: the stream ended, or we stopped listening."""
        self.troubles: list[Trouble] = []
        self.agent_is_over = False
        """The agent's fate is decided: it ended, was lost, or met a budget or deadline. What breaks now came later."""
        self.on_upstream: Callable[[Mapping[str, Any]], None] = _refuse
        """Takes the frames by which the recorder asks for outside calls; FrameError for a malformed one."""

    def trouble(self, blame: Blame, detail: str, stderr: str = "") -> None:
        """Something of ours, the environment's or the machine's broke now."""
        self.troubles.append(Trouble(blame, detail, not self.agent_is_over, stderr))

    def absorb(self, line: bytes) -> None:
        """Take one line of the recorder's stdout."""
        if self.is_closed:
            return
        try:
            if self.has_ended:
                raise FrameError("a frame after `end`")
            frame = parse_object(line)
            handler = _HANDLERS.get(_text(frame, "type"))
            if handler is None:
                raise FrameError(f"a frame of unknown type {frame['type']!r}")
            handler(self, frame)
        except FrameError as error:
            self.trouble(Blame.HARNESS, f"control channel: {error}")
            self.is_closed = True

    def close(self, rest: bytes = b"") -> None:
        """The recorder's stdout has ended, with `rest` after its last line."""
        if not self.is_closed and not self.has_ended:
            torn = " in the middle of a frame" if rest else ""
            self.trouble(Blame.HARNESS, f"the boundary ended{torn} before it said `end`")
        self.is_closed = True

    def _ready(self, frame: dict[str, Any]) -> None:
        self.tools = _objects(frame.get("tools"), "tools")
        self.servers = _objects(frame.get("servers", []), "servers")
        listening = frame.get("listening", [])
        if not isinstance(listening, list) or not all(isinstance(address, str) for address in listening):
            raise FrameError("`ready` whose listening is no list of addresses")
        self.listening = tuple(listening)
        self.is_ready = True

    def _status(self, frame: dict[str, Any]) -> None:
        status = _text(frame, "status")
        if status == "started":
            self.init = replace(self.init, started=True)
        elif status == "worker_ready":
            self.is_worker_ready = True
        elif status == "exec_failed":
            self.init = replace(self.init, exec_errno=_whole(frame, "errno"))
        elif status == "ended":
            self.agent_is_over = True
            code, number = _whole_or_none(frame, "code"), _whole_or_none(frame, "signal")
            if code is None and number is None:
                raise FrameError("a status `ended` without code or signal")
            self.init = replace(
                self.init,
                code=code,
                signal=number,
                oom_kills=_whole_or_none(frame, "oom_kills"),
                peak_memory_bytes=_whole_or_none(frame, "peak_bytes"),
            )
        elif status == "lost":
            self.agent_is_over = True
            self.init = replace(self.init, is_lost=True)
        else:
            raise FrameError(f"an unknown status {status!r}")

    def _event(self, frame: dict[str, Any]) -> None:
        event = frame.get("event")
        if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
            raise FrameError("an event without a kind")
        if not _HOST_KEYS.isdisjoint(event):
            raise FrameError(f"an event with a key that the host alone writes: {sorted(_HOST_KEYS & event.keys())}")
        self.events.append(event)
        self._witness(event)

    def _latched(self, frame: dict[str, Any]) -> None:
        if self.latched is None:
            self.latched = _text(frame, "budget")
        self.agent_is_over = True

    def _trouble(self, frame: dict[str, Any]) -> None:
        blame = _text(frame, "blame")
        if blame not in (Blame.ENVIRONMENT, Blame.HARNESS):
            raise FrameError(f"a trouble with the blame {blame!r}")
        server = _text_or_none(frame, "server")
        trouble = Trouble(
            Blame(blame),
            _text(frame, "detail"),
            came_first=not self.agent_is_over,
            stderr=_text_or_none(frame, "stderr") or "",
            server=server,
            during_call=server is not None and frame.get("during_call") is True,
            how=_text_or_none(frame, "how") or "",
        )
        self.troubles.append(trouble)

    def _upstream(self, frame: dict[str, Any]) -> None:
        try:
            self.on_upstream(frame)
        except ArciError as error:  # a mistake of ours: nothing was opened
            self.trouble(Blame.HARNESS, str(error))

    def _replay_miss(self, frame: dict[str, Any]) -> None:
        if not isinstance(frame.get("call"), dict):
            raise FrameError("a `replay_miss` without a call")
        if self.replay_miss is None:
            self.replay_miss = frame
        self.agent_is_over = True

    def _replay_leftover(self, frame: dict[str, Any]) -> None:
        calls = frame.get("calls")
        if not isinstance(calls, list) or not all(isinstance(index, int) for index in calls):
            raise FrameError("a `replay_leftover` without a list of calls")
        self.replay_leftover, self.replay_leftover_count = tuple(calls), _whole(frame, "count")

    def _initial_state(self, frame: dict[str, Any]) -> None:
        self.initial_state = _state(frame)

    def _final_state(self, frame: dict[str, Any]) -> None:
        self.final_state = _state(frame)

    def _end(self, frame: dict[str, Any]) -> None:
        count = _whole(frame, "count")
        self.has_ended = True
        if count != len(self.events):
            self.trouble(Blame.HARNESS, f"the boundary counts {count} events, {len(self.events)} arrived")


_HANDLERS: dict[str, Callable[[Conversation, dict[str, Any]], None]] = {
    "ready": Conversation._ready,
    "status": Conversation._status,
    "event": Conversation._event,
    "latched": Conversation._latched,
    "trouble": Conversation._trouble,
    "upstream_request": Conversation._upstream,
    "upstream_cancel": Conversation._upstream,
    "replay_miss": Conversation._replay_miss,
    "replay_leftover": Conversation._replay_leftover,
    "initial_state": Conversation._initial_state,
    "final_state": Conversation._final_state,
    "end": Conversation._end,
}


def _refuse(frame: Mapping[str, Any]) -> None:
    raise FrameError(f"{frame['type']!r} in a trial that may ask nothing outside")


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise FrameError(f"`ready` without a list of {name}")
    return [item for item in value if isinstance(item, dict)]


def _state(frame: dict[str, Any]) -> dict[str, Any]:
    state = frame.get("state")
    if not isinstance(state, dict):
        raise FrameError(f"a frame {frame['type']!r} whose state is no JSON object")
    return state


def _text(frame: dict[str, Any], key: str) -> str:
    value = frame.get(key)
    if not isinstance(value, str):
        raise FrameError(f"a frame whose {key} is {type(value).__name__}, not text")
    return value


def _text_or_none(frame: dict[str, Any], key: str) -> str | None:
    return None if frame.get(key) is None else _text(frame, key)


def _whole(frame: dict[str, Any], key: str) -> int:
    value = frame.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise FrameError(f"a frame whose {key} is {type(value).__name__}, not a whole number")
    return value


def _whole_or_none(frame: dict[str, Any], key: str) -> int | None:
    return None if frame.get(key) is None else _whole(frame, key)
