"""What trials used of models and decisions, gathered from their records. Pure; damaged records count as nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.report.words import seconds

__all__ = ["UpstreamUse", "percentile", "upstream_use", "usage_words", "use_rows"]


@dataclass(frozen=True, slots=True)
class UpstreamUse:
    """Of one arm under one condition, summed over its trials."""

    trials: int
    calls: int
    """Of models, those included that a fault answered in their place."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where no prices are declared, or not of all that was asked."""
    latencies_s: tuple[float, ...]
    """Of calls that a model answered, sorted."""
    decisions: int
    decision_latencies_s: tuple[float, ...]


def upstream_use(records: Iterable[Mapping[str, Any]]) -> UpstreamUse | None:
    """None where the trials had no upstreams."""
    trials = [facts for record in records if (facts := _facts(record))]
    every = [fact for facts in trials for fact in facts]
    if not every:
        return None
    models = [fact for fact in every if fact.get("kind") != "systemone"]
    decisions = [fact for fact in every if fact.get("kind") == "systemone"]
    costs = [_number(fact.get("cost_usd")) for fact in models]
    return UpstreamUse(
        trials=len(trials),
        calls=_total(models, "calls"),
        input_tokens=_total(models, "input_tokens"),
        output_tokens=_total(models, "output_tokens"),
        cost_usd=None if not costs or None in costs else sum(cost for cost in costs if cost is not None),
        latencies_s=_latencies(models),
        decisions=_total(decisions, "calls"),
        decision_latencies_s=_latencies(decisions),
    )


def use_rows(uses: Sequence[UpstreamUse | None]) -> Iterator[tuple[str, list[str]]]:
    """Rows of a table with a column for each arm: label, cells. None where no arm used anything."""
    if any(use is not None and use.calls for use in uses):
        yield "model calls", [_per_trial(use, use.calls) if use else "-" for use in uses]
        yield "tokens in, out", [f"{use.input_tokens}, {use.output_tokens}" if use else "-" for use in uses]
        if any(use is not None and use.cost_usd for use in uses):
            yield "cost", [_cost(use) for use in uses]
        yield "model latency", [_spread(use.latencies_s) if use else "-" for use in uses]
    if any(use is not None and use.decisions for use in uses):
        yield "decisions", [_per_trial(use, use.decisions) if use else "-" for use in uses]
        yield "decision latency", [_spread(use.decision_latencies_s) if use else "-" for use in uses]


def usage_words(usage: Mapping[str, Any]) -> str:
    """What a record's `usage` tells of one trial, without what is zero or not known; `nothing` if that is all."""
    order = (*_COUNTED, *_SPENT, *sorted(set(usage) - {*_COUNTED, *_SPENT}))
    told = [
        _used(name, usage[name]) for name in order if name in usage and usage[name] is not None and usage[name] != 0
    ]
    return ", ".join(told) or "nothing"


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of sorted, non-empty `values`; `share` in (0, 1]."""
    return values[max(0, math.ceil(share * len(values)) - 1)]


_COUNTED = {
    "tool_calls": "tool call",
    "model_steps": "model step",
    "relays": "relayed request",
    "notifications": "notification",
    "model_calls": "model call",
    "input_tokens": "input token",
    "output_tokens": "output token",
    "cached_input_tokens": "cached input token",
}
_SPENT = {"agent_seconds": "in the agent", "model_seconds": "in models", "paced_seconds": "waiting for a pace"}


def _used(name: str, value: Any) -> str:
    number = _number(value)
    if number is None:
        return f"{name} {json.dumps(value, ensure_ascii=False, sort_keys=True)}"
    if name in _COUNTED:
        return f"{value} {_COUNTED[name]}{'' if number == 1 else 's'}"
    if name in _SPENT:
        return f"{seconds(number)} {_SPENT[name]}"
    if name == "peak_memory_bytes":
        return f"{number / (1 << 20):.1f} MiB of memory at most"
    return f"USD {number:.6f}" if name == "cost_usd" else f"{name} {value}"


def _facts(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    models = record.get("models")
    return [fact for fact in models.values() if isinstance(fact, Mapping)] if isinstance(models, Mapping) else []


def _total(facts: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(int(value) for fact in facts if (value := _number(fact.get(name))) is not None)


def _latencies(facts: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    lists = [fact["latencies_s"] for fact in facts if isinstance(fact.get("latencies_s"), list)]
    return tuple(sorted(value for values in lists for item in values if (value := _number(item)) is not None))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _per_trial(use: UpstreamUse, count: int) -> str:
    return f"{count} ({count / use.trials:.1f} per trial)"


def _cost(use: UpstreamUse | None) -> str:
    if use is None or use.cost_usd is None:
        return "-"
    return f"USD {use.cost_usd:.4f} ({use.cost_usd / use.trials:.6f} per trial)"


def _spread(values: Sequence[float]) -> str:
    return f"p50 {seconds(percentile(values, 0.5))}, p95 {seconds(percentile(values, 0.95))}" if values else "-"
