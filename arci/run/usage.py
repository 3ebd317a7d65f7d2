"""What a trial used of tools and upstreams, summed over its recorder's events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arci.model.manifest import Manifest
from arci.model.upstream import DECISION_TOOL

__all__ = ["MOST_LATENCIES", "model_usage", "upstream_facts"]

MOST_LATENCIES = 1000
"""Of an upstream's calls in one trial; the first ones are kept."""
_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens")


def model_usage(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The sums over all models: `model_calls`, tokens, `cost_usd` (null where a call has no price), `model_seconds`."""
    models = [fact for fact in facts.values() if fact["kind"] != "systemone"]
    costs = [fact["cost_usd"] for fact in models]
    return {
        "model_calls": sum(fact["calls"] for fact in models),
        **{name: sum(fact[name] for fact in models) for name in _TOKENS},
        "cost_usd": None if not costs or None in costs else round(sum(costs), 9),
        "model_seconds": round(sum(fact["seconds"] for fact in models), 6),
    }


def upstream_facts(
    manifest: Manifest, events: Sequence[Mapping[str, Any]], asked: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Upstream -> what was used of it, as the record holds it; every declared one."""
    facts = {model.name: _models(model.name, model.kind, events) for model in manifest.models}
    if manifest.decisions is not None:
        facts[manifest.decisions.name] = _decisions(events)
    return {name: {**fact, "host_calls": asked.get(name, 0)} for name, fact in facts.items()}


def _models(name: str, kind: str, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    mine = [e for e in events if e["kind"] in ("model_start", "model_finish") and e.get("upstream") == name]
    finished = [e for e in mine if e["kind"] == "model_finish"]
    called = [e for e in finished if e.get("executed") is True]
    costs = [_number(e.get("cost_usd")) for e in called]
    return {
        "kind": kind,
        "models": sorted({str(e["model"]) for e in finished if isinstance(e.get("model"), str)}),
        "calls": len(mine) - len(finished),
        "failed": sum(e.get("ok") is not True for e in finished),
        **{token: sum(_tokens(e, token) for e in finished) for token in _TOKENS},
        "cost_usd": None if None in costs else round(sum(c for c in costs if c is not None), 9),
        **_times(mine, called),
    }


def _decisions(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    mine = [e for e in events if e["kind"] in ("tool_start", "tool_finish") and e.get("tool") == DECISION_TOOL]
    finished = [e for e in mine if e["kind"] == "tool_finish"]
    return {
        "kind": "systemone",
        "models": [],
        "calls": len(mine) - len(finished),
        "failed": sum(e.get("ok") is not True for e in finished),
        **dict.fromkeys(_TOKENS, 0),
        "cost_usd": None,
        **_times(mine, [e for e in finished if e.get("executed") is True]),
    }


def _times(events: Iterable[Mapping[str, Any]], called: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`seconds`, and each call's own, in the order of their ends: of calls that an upstream answered."""
    begun = {e.get("call_id"): _number(e.get("at_s")) for e in events if e["kind"].endswith("_start")}
    spans = [(begun.get(e.get("call_id")), _number(e.get("at_s"))) for e in called]
    latencies = [round(end - start, 6) for start, end in spans if start is not None and end is not None]
    return {"seconds": round(sum(latencies), 6), "latencies_s": latencies[:MOST_LATENCIES]}


def _tokens(event: Mapping[str, Any], name: str) -> int:
    usage = event.get("usage")
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
