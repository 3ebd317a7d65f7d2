"""An agent that asks its model without end, on a real engine: it is cut at its budget, on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e import arci, records
from models.asking import asking
from models.gate import gate

from arci.store.reader import read_events

pytestmark = pytest.mark.timeout(600)

MOST = 20
CALLS = 10_000


def test_an_agent_that_calls_ten_thousand_times_is_cut_at_its_budget_on_both_sides(tmp_path: Path) -> None:
    with gate(is_open=True) as provider:
        budgets = {"max_model_calls": MOST, "max_seconds": 300}
        path = asking(tmp_path, provider.base_url, CALLS, budgets=budgets, models={"max_requests_per_minute": 60_000})
        ended = arci("run", path, "--out", tmp_path / "runs", "--json")
        assert ended.stdout, ended.stderr
    assert provider.calls == 2 * MOST  # two trials, by the provider's own count
    for trial_id, record in records(ended.run).items():
        assert (record["outcome"], record["ending"], record["blame"]) == ("FAIL", "budget", "agent"), record["detail"]
        assert "max_model_calls" in record["detail"]
        kinds = [event["kind"] for event in read_events(ended.run, trial_id)]
        assert (kinds.count("model_start"), kinds.count("model_finish")) == (MOST, MOST)
        assert record["usage"]["model_calls"] == MOST
