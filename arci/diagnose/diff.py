"""Where two traces part: the first comparable step that differs, and the last injection before it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.model.canonical import canonical
from arci.model.record import trace_steps

__all__ = ["CONTEXT_STEPS", "Divergence", "Side", "compare", "divergence_document"]

CONTEXT_STEPS = 3
"""Steps shown before and after the first that differs."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two traces, as far as it concerns where they part."""

    trial_id: str
    step: dict[str, Any] | None
    """The step that differs; None if this trace has ended before."""
    steps: tuple[dict[str, Any], ...]
    """The steps around it, from `Divergence.first` on."""
    last_injection: dict[str, Any] | None
    """The last injection at or before the step that differs."""
    count: int
    """Comparable steps in all."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """`index`: 0-based number of the first step that differs; None if the traces are the same."""

    index: int | None
    first: int
    """Number of the first step in `steps` of both sides."""
    a: Side
    b: Side

    @property
    def is_same(self) -> bool:
        return self.index is None


def compare(
    a_id: str,
    a_events: Sequence[Mapping[str, Any]],
    b_id: str,
    b_events: Sequence[Mapping[str, Any]],
    *,
    context: int | None = CONTEXT_STEPS,
) -> Divergence:
    """The first divergence of two recorded trials. `context`: steps kept before and after it; None: all of them."""
    a, b = trace_steps(a_events), trace_steps(b_events)
    # By their written form: to Python 1, 1.0 and True are equal, to an agent and to `trace_sha256` they are not.
    index = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if canonical(x) != canonical(y)), None)
    if index is None and len(a) != len(b):
        index = min(len(a), len(b))
    centre = index if index is not None else max(len(a) - 1, 0)
    first, last = (0, None) if context is None else (max(0, centre - context), centre + context + 1)
    return Divergence(index, first, _side(a_id, a, index, first, last), _side(b_id, b, index, first, last))


def _side(trial_id: str, steps: list[dict[str, Any]], index: int | None, first: int, last: int | None) -> Side:
    before = steps if index is None else steps[: index + 1]
    injections = [step for step in before if step["kind"] == "injection"]
    return Side(
        trial_id=trial_id,
        step=steps[index] if index is not None and index < len(steps) else None,
        steps=tuple(steps[first:last]),
        last_injection=injections[-1] if injections else None,
        count=len(steps),
    )


def divergence_document(found: Divergence) -> dict[str, Any]:
    """The divergence as a JSON object."""
    return {
        "same": found.is_same,
        "index": found.index,
        "first": found.first,
        "a": _side_document(found.a),
        "b": _side_document(found.b),
    }


def _side_document(side: Side) -> dict[str, Any]:
    return {
        "trial_id": side.trial_id,
        "step": side.step,
        "steps": list(side.steps),
        "last_injection": side.last_injection,
        "count": side.count,
    }
