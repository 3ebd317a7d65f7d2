"""Which faults meet which call, and what they make of it, in list order. Pure given the hooks."""

from __future__ import annotations

from arci.faults.action import Delay, Fail, Nothing, Replace
from arci.faults.answer import Answer
from arci.faults.kinds import NAMES, kind, make_fault, target_of
from arci.faults.settings import TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Mapping, Optional, Sequence, Set, Tuple

    from arci.faults.call import Call
    from arci.faults.settings import Hooks

__all__ = ["Encounter", "FaultBroken", "FaultPlan", "Met"]


class FaultBroken(Exception):
    """A custom fault raised, or returned what it may not: the user's code broke, not the agent."""


class _Entry:
    """One fault of the condition's list."""

    __slots__ = ("fault", "index", "kind", "n", "name", "probability", "target", "tool")

    def __init__(self, index: int, spec: Mapping[str, Any], fault: Hooks) -> None:
        self.index = index
        self.name: str = spec["name"]
        self.tool: Optional[str] = spec.get("tool")
        occurrence = spec.get("occurrence") or {"kind": "nth", "n": 0}
        lasts = self.name in NAMES and kind(self.name).lasts
        self.kind: str = "from" if lasts and occurrence["kind"] == "nth" else occurrence["kind"]
        self.n: int = occurrence.get("n", 0)
        self.probability: float = spec.get("probability", 1.0)
        self.target = target_of(self.name)
        self.fault = fault

    def matches(self, call: Call, target: str) -> bool:
        if self.target != target:
            return False
        if self.tool is not None and self.tool != call.tool:
            return False
        if self.kind == "every":
            return True
        return call.occurrence == self.n if self.kind == "nth" else call.occurrence >= self.n


class FaultPlan:
    """The faults of a condition for one trial."""

    def __init__(self, specs: Sequence[Mapping[str, Any]], seed: int, load: Callable[[str], Any]) -> None:
        """`specs`: the manifest's list for the condition. Raises what `make_fault` raises."""
        self._seed = seed
        self._entries = [_Entry(i, s, make_fault(s["name"], s.get("params") or {}, load)) for i, s in enumerate(specs)]

    def name_tools(self, canonical: Callable[[str], str]) -> None:
        """From now on the faults' tools go by the names under which calls are recorded."""
        for entry in self._entries:
            if entry.tool is not None:
                entry.tool = canonical(entry.tool)

    def wants_earlier(self, tool: str) -> bool:
        """Whether some fault may ask what the tool answered before."""
        mine = (e for e in self._entries if e.target == TOOL and e.tool in (None, tool))
        return any(getattr(e.fault, "wants_earlier", True) for e in mine)

    def meet(self, call: Call) -> Encounter:
        """The faults that meet this call of a tool, chances drawn. Once per call."""
        return Encounter(call, self._drawn(call, TOOL))

    def met(self, call: Call, target: str) -> List[Met]:
        """The faults of another target that meet this call, in list order, chances drawn. Once per call."""
        return [Met(entry.name, entry.index, entry.fault, rng) for entry, rng in self._drawn(call, target)]

    def _drawn(self, call: Call, target: str) -> List[Tuple[_Entry, Any]]:
        drawn: List[Tuple[_Entry, Any]] = []
        for entry in self._entries:
            if entry.matches(call, target):
                rng = self._rng(entry, call)
                if entry.probability >= 1 or rng.random() < entry.probability:
                    drawn.append((entry, rng))
        return drawn

    def _rng(self, entry: _Entry, call: Call) -> Any:
        """`random.Random("<seed>:fault:<name>:<tool>:<occurrence>")`: no draw depends on time or on other tools."""
        if entry.probability >= 1 and entry.name in NAMES:
            return None  # nobody draws from it, so `random` is not imported
        from random import Random

        return Random(f"{self._seed}:fault:{entry.name}:{call.tool}:{call.occurrence}")


class Met:
    """One fault that meets a call of a model or a decision: `hooks` are those of its target."""

    __slots__ = ("hooks", "index", "name", "rng")

    def __init__(self, name: str, index: int, hooks: Hooks, rng: Any) -> None:
        self.name = name
        self.index = index
        self.hooks = hooks
        self.rng = rng


class Encounter:
    """One call and the faults that meet it."""

    __slots__ = ("_call", "_met", "_noted", "injected", "injected_by")

    def __init__(self, call: Call, met: List[Tuple[_Entry, Any]]) -> None:
        self._call = call
        self._met = met
        self._noted: Set[int] = set()
        self.injected: List[Tuple[str, int]] = []
        """Name and index of the faults that did something; the boundary takes them out as it records them."""
        self.injected_by: Optional[str] = None
        """The last fault that changed what the agent gets."""

    def before(self) -> Optional[Fail]:
        """The first failure that keeps the call from being executed, or None. Faults behind it are shadowed."""
        for entry, rng in self._met:
            action = self._ask(entry, "before", self._call, rng)
            if isinstance(action, Fail):
                return action
            if not isinstance(action, (Nothing, type(None))):
                raise FaultBroken(f"fault {entry.name}: before() returned {action!r}; None, Nothing or Fail is allowed")
        return None

    def after(self, answer: Answer) -> Tuple[Answer, float]:
        """What the agent gets for the tool's `answer`, and how many milliseconds later."""
        delay_ms = 0.0
        for entry, rng in self._met:
            action = self._ask(entry, "after", self._call, answer, rng)
            if isinstance(action, Fail):
                return Answer.failure(action.kind, action.detail), delay_ms + action.after_ms
            if isinstance(action, Delay):
                delay_ms += action.ms
            elif isinstance(action, Replace):
                answer = self._replaced(entry, answer, action.value)
            elif not isinstance(action, (Nothing, type(None))):
                raise FaultBroken(f"fault {entry.name}: after() returned {action!r}; an action or None is allowed")
        return answer, delay_ms

    def _ask(self, entry: _Entry, hook: str, *values: Any) -> Any:
        try:
            action = getattr(entry.fault, hook)(*values)
        except Exception as error:
            raise FaultBroken(f"fault {entry.name}: {hook}() raised {type(error).__name__}: {error}") from error
        if action is not None and entry.index not in self._noted:
            self._noted.add(entry.index)  # both hooks of a fault at one call are one injection
            self.injected.append((entry.name, entry.index))
        if not isinstance(action, (Nothing, type(None))):
            self.injected_by = entry.name
        return action

    def _replaced(self, entry: _Entry, answer: Answer, value: Any) -> Answer:
        try:
            return answer.with_value(value) if answer.ok else Answer.of(value)
        except (TypeError, ValueError) as error:
            raise FaultBroken(f"fault {entry.name}: after() returned a value that is not JSON: {error}") from error
