"""A comparable step, and where two traces part, in words that every renderer shares. Pure; trusts no trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arci.diagnose.diff import Divergence
from arci.diagnose.difference import Difference, first_difference

__all__ = ["StepWords", "difference_at", "injection_words", "parting_words", "step_words"]

_KINDS = {
    "tool_start": "call",
    "tool_finish": "answer",
    "model_step": "model",
    "model_start": "ask",
    "model_finish": "reply",
    "agent_result": "claim",
    "trial_end": "end",
}


@dataclass(frozen=True, slots=True)
class StepWords:
    """One step. All of it is an agent's or an environment's, so hostile."""

    kind: str
    head: str
    body: str
    tail: str
    """What made an answer, behind it: in front of a number it would read as its setting."""
    is_injected: bool
    """It is an injection, or an answer that one made."""

    @property
    def line(self) -> str:
        return f"{self.kind} {self.rest()}".rstrip(" ")

    def rest(self, most: int | None = None) -> str:
        """All but the kind. Where a tail would end behind `most` characters, what stands before it is cut."""
        told = " ".join(part for part in (self.head, self.body) if part)
        if self.tail and most is not None and len(told) + len(self.tail) > most:
            told = f"{told[: max(0, most - len(self.tail) - 4)]} ..."
        return f"{told}{self.tail}"


def step_words(step: Mapping[str, Any]) -> StepWords:
    """A step of `arci.model.record.trace_steps` in words; a kind that is not known, as its JSON."""
    kind = str(step.get("kind"))
    head, body = _HEADS.get(kind, _other)(step)
    by = step.get("injected_by")
    tail = f", injected by {by}" if by else ""
    return StepWords(_KINDS.get(kind, kind), head, body, tail, kind == "injection" or bool(by))


def injection_words(step: Mapping[str, Any]) -> str:
    """`tool_timeout on reserve[0]`."""
    return f"{step.get('fault')} on {_call(step)}"


def parting_words(found: Divergence) -> str:
    """Where two traces part, in a sentence. Steps are counted from 1."""
    if found.index is None:
        return f"The traces are the same: {found.a.count} comparable steps."
    at = f"They part at step {found.index + 1}"
    for side, other in ((found.a, found.b), (found.b, found.a)):
        if side.step is None:
            return f"{at}: {side.trial_id} has ended, {other.trial_id} goes on."
    return f"{at}."


def difference_at(found: Divergence) -> Difference | None:
    """What differs within the step at which they part; None where the two are steps of another kind or tool, they are
    the same, or one trace has ended: then the steps themselves say it."""
    a, b = found.a.step, found.b.step
    if a is None or b is None or any(a.get(name) != b.get(name) for name in ("kind", "tool", "upstream")):
        return None
    return first_difference(a, b)


def _call(step: Mapping[str, Any]) -> str:
    name = step.get("tool") if step.get("tool") is not None else step.get("upstream")
    return f"{name}[{step.get('occurrence')}]"


def _start(step: Mapping[str, Any]) -> tuple[str, str]:
    return _call(step), _json(step.get("arguments"))


def _finish(step: Mapping[str, Any]) -> tuple[str, str]:
    return _answered(step), _json(step.get("value"))


def _answered(step: Mapping[str, Any]) -> str:
    how = "ok" if step.get("ok") else f"failed: {step.get('error_kind')}"
    return f"{_call(step)} {how}"


def _asked(step: Mapping[str, Any]) -> tuple[str, str]:
    return f"{_call(step)} {step.get('model')}", f"messages {str(step.get('messages_sha256'))[:12]}"


def _said(step: Mapping[str, Any]) -> tuple[str, str]:
    parts = [_json(step[key]) for key in ("text", "tool_calls") if step.get(key)]
    return _answered(step), " ".join(parts)


def _injection(step: Mapping[str, Any]) -> tuple[str, str]:
    return injection_words(step), ""


def _model(step: Mapping[str, Any]) -> tuple[str, str]:
    return str(step.get("summary")), _json(step["facts"]) if step.get("facts") else ""


def _relay(step: Mapping[str, Any]) -> tuple[str, str]:
    how = "ok" if step.get("ok") else "failed"
    return f"{step.get('server')} {step.get('method')} {how}", _json(step.get("params"))


def _violation(step: Mapping[str, Any]) -> tuple[str, str]:
    return f"{step.get('invariant')} by {step.get('tool')}", ""


def _other(step: Mapping[str, Any]) -> tuple[str, str]:
    return "", _json({key: value for key, value in step.items() if key != "kind"})


_HEADS: dict[str, Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    "tool_start": _start,
    "tool_finish": _finish,
    "model_step": _model,
    "relay": _relay,
    "model_start": _asked,
    "model_finish": _said,
    "injection": _injection,
    "violation": _violation,
    "agent_result": lambda step: ("", _json(step.get("claim"))),
    "trial_end": lambda step: (str(step.get("ending")), ""),
}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
