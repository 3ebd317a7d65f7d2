"""A recording that answers in place of environment and upstreams: what was asked decides, not when. Sans-io.

The key of an answer is what was asked, in canonical form; answers to the same thing come first in, first out.
"""

from __future__ import annotations

from arci.boundary.replay_nearest import nearest
from arci.faults.answer import Answer
from arci.model.canonical import canonical
from arci.wire.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

    from arci.boundary.asked import OnProgress
    from arci.boundary.journal import Journal

    Told = Sequence[Mapping[str, Any]]

__all__ = ["Recorded", "Replay"]

_MOST_LEFTOVERS = 20
"""Recorded calls never made that are named; all are counted."""


class Recorded:
    """A tool call's answer as the agent saw it."""

    __slots__ = ("answer", "injected", "injected_by", "is_held", "told", "told_after")

    def __init__(
        self,
        answer: Answer,
        injected: List[Tuple[str, int]],
        injected_by: Optional[str],
        is_held: bool,
        told: Told = (),
        told_after: Told = (),
    ) -> None:
        self.answer = answer
        self.injected = injected
        self.injected_by = injected_by
        self.is_held = is_held  # the agent never heard it: it had cancelled the call, or was gone
        self.told = told  # for `Replay.tell`, before the answer
        self.told_after = told_after


class Replay:
    """The recorded calls of one trial. Each has `kind` (`tool`, `relay`, `model`, `lookup`), `name`, `payload`
    (JSON) and `answer`; see docs/reference/control-channel.md."""

    def __init__(self, journal: Journal, replay: Mapping[str, Any]) -> None:
        """KeyError or TypeError if it lacks something."""
        self.servers: List[Dict[str, Any]] = list(replay["servers"])
        self._death: Optional[Dict[str, Any]] = replay.get("death")
        self._journal = journal
        self._calls: List[Dict[str, Any]] = list(replay["calls"])
        self._left: Dict[bytes, List[int]] = {}
        self._counts: Dict[bytes, int] = {}
        self._has_missed = False
        self._opening: Dict[str, Told] = {server["name"]: server.get("told", ()) for server in self.servers}
        self.notified: Callable[[str, str, Dict[str, Any]], None] = lambda server, method, params: None
        """(server, method, params): what a server notifies; set by whoever passes it on."""
        for index, call in enumerate(self._calls):
            key = _key(call["kind"], call["name"], call.get("digest", call["payload"]))
            self._left.setdefault(key, []).append(index)
            self._counts[key] = self._counts.get(key, 0) + 1

    def call(self, tool: str, arguments: Dict[str, Any]) -> Recorded:
        """What a tool call is answered with. A miss is told to the host, and to the agent as a failure."""
        answer = self.take("tool", tool, arguments)
        if answer is None:
            failure = Answer.failure("environment", "the recording that is replayed has no answer to this call")
            return Recorded(failure, [], None, False)
        if answer["error_kind"] == "environment" and self._death is not None:
            self._journal.trouble("environment", **self._death)
        injected = [(fault["fault"], fault["fault_index"]) for fault in answer["injections"]]
        told = (answer.get("told", ()), answer.get("told_after", ()))
        return Recorded(_tool_answer(answer), injected, answer["injected_by"], answer["is_held"], *told)

    def take(self, kind: str, name: str, payload: Any, digest: Any = None) -> Optional[Dict[str, Any]]:
        """The next recorded answer to that, each once; None for a miss, of which the host is told the first. `digest`:
        what is compared in place of a payload of which a record may keep the head alone."""
        key = _key(kind, name, payload if digest is None else digest)
        left = self._left.get(key)
        if left and "too_long" not in self._calls[left[0]]["answer"]:
            found: Dict[str, Any] = self._calls[left.pop(0)]["answer"]
            return found
        self._miss(key, kind, name, payload, is_too_long=bool(left))
        return None

    def tell(self, told: Told, on_progress: Optional[OnProgress]) -> None:
        """What servers told without being asked, and the progress of the request at hand, in their order."""
        for notice in told:
            if "method" in notice:
                self.notified(notice["server"], notice["method"], dict(notice["params"]))
            elif on_progress is not None:
                on_progress(dict(notice["params"]))

    def tell_arrived(self, server: str) -> None:
        """A client has come to hear a server: what was told before anything was asked, once."""
        self.tell(self._opening.pop(server, ()), None)

    def tell_leftover(self) -> None:
        """The end: what was recorded and not asked again."""
        left = sorted(index for indices in self._left.values() for index in indices)
        if left:
            self._journal.tell("replay_leftover", calls=left[:_MOST_LEFTOVERS], count=len(left))

    def _miss(self, key: bytes, kind: str, name: str, payload: Any, is_too_long: bool) -> None:
        if self._has_missed:
            return
        self._has_missed = True
        left = {index for indices in self._left.values() for index in indices}
        self._journal.tell(
            "replay_miss",
            call={"kind": kind, "name": name, "payload": payload},
            recorded=self._counts.get(key, 0),
            is_too_long=is_too_long,
            nearest=nearest(self._calls, left, kind, name, payload),
        )


def _key(kind: str, name: str, payload: Any) -> bytes:
    return canonical([kind, name, payload])


def _tool_answer(answer: Mapping[str, Any]) -> Answer:
    text = answer.get("result")
    if isinstance(text, str):
        return Answer(loads(text), text.encode("utf-8", "surrogatepass"))
    if answer["ok"]:
        return Answer.of(answer["value"])
    return Answer.failure(answer["error_kind"] or "error", str(answer["value"]))
