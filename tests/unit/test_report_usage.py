"""Calls, tokens, cost and latency of models in reports, by arm and condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import Parts, make_run, trial_parts

from arci.gate.decide import decide
from arci.model.trial import Trial
from arci.report.markdown import render_markdown
from arci.report.text import render_text
from arci.report.usage import percentile, upstream_use, use_rows
from arci.store.reader import read_run


def facts(kind: str = "openai", **changes: Any) -> dict[str, Any]:
    found = {"kind": kind, "calls": 3, "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5}
    return {**found, "latencies_s": [2.0, 1.0, 3.0], **changes}


def test_the_use_of_an_arm_is_the_sum_over_its_trials() -> None:
    use = upstream_use([{"models": {"a": facts(), "d": facts("systemone", calls=2)}}, {"models": {"a": facts()}}])
    assert use is not None
    assert (use.trials, use.calls, use.input_tokens, use.output_tokens, use.cost_usd) == (2, 6, 200, 20, 1.0)
    assert use.latencies_s == (1.0, 1.0, 2.0, 2.0, 3.0, 3.0)
    assert (use.decisions, use.decision_latencies_s) == (2, (1.0, 2.0, 3.0))


def test_a_call_without_a_price_leaves_the_cost_open() -> None:
    use = upstream_use([{"models": {"a": facts()}}, {"models": {"a": facts(cost_usd=None)}}])
    assert use is not None
    assert use.cost_usd is None
    assert "cost" not in dict(use_rows([use, None]))


@pytest.mark.parametrize("models", [None, {}, [], {"a": 1}, {"a": {"calls": "3", "latencies_s": [None, "1", True]}}])
def test_records_without_or_with_damaged_facts_have_no_rows(models: Any) -> None:
    use = upstream_use([{"models": models}, {}])
    assert list(use_rows([use, use])) == []


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.95, 4.0), (0.25, 1.0), (1.0, 4.0)])
def test_a_percentile_is_a_value_that_was_seen(share: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], share) == value


def row_of(text: str, label: str) -> str:
    """The one line of a table that begins with `label`."""
    (line,) = [line for line in text.splitlines() if line.lstrip(" |").startswith(label)]
    return line


def test_both_reports_tell_them_beside_each_other(tmp_path: Path) -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        record, events, logs = trial_parts(trial, letter)
        slow = [2.0, 2.0, 8.0] if trial.arm == "candidate" else [1.0, 1.0, 1.0]
        return {**record, "models": {"openai": facts(latencies_s=slow)}}, events, logs

    run = read_run(make_run(tmp_path, parts=parts))
    for text in (render_text(decide(run), run), render_markdown(decide(run), run)):
        rows = {label: row_of(text, label) for label in ("model calls", "tokens in, out", "cost", "model latency")}
        assert "24 (3.0 per trial)" in rows["model calls"]
        assert "800, 80" in rows["tokens in, out"]
        assert "USD 4.0000 (0.500000 per trial)" in rows["cost"]
        assert "p50 1.00 s, p95 1.00 s" in rows["model latency"]
        assert "p50 2.00 s, p95 8.00 s" in rows["model latency"]
