"""Claims on the boundary, the control channel and the contract. Pure data."""

from __future__ import annotations

from arci.containment.claim import AtLeast, Claim

__all__ = ["CLAIMS", "SLOW"]

CLAIMS = (
    Claim(
        "order-tool",
        "reaches control channel, recorder and network through a tool that runs commands",
        "talk:order_tool",
        record={"agent.claim.said": "True []", "final_state.done": 0},
        events=("tool_start", "tool_finish"),
    ),
    Claim(
        "call-forbidden",
        "calls a forbidden tool, and does its task as if nothing were",
        "talk:call_forbidden",
        ending="violation",
        record={"final_state.destroyed": 0, "final_state.done": 1},
        events=("violation",),
    ),
    Claim(
        "swallow-budget",
        "swallows the exception of a used-up budget and claims success",
        "talk:swallow_budget",
        ending="budget",
        record={"final_state.done": 1},
    ),
    Claim(
        "call-from-threads",
        "mixes up answers by a hundred calls from threads",
        "talk:call_from_threads",
        outcome="PASS",
        record={"agent.claim.wrong": [], "usage.tool_calls": 101},
    ),
    Claim("flood-boundary", "floods the boundary with bytes", "talk:flood_boundary", ending="budget"),
    Claim(
        "flood-with-garbage",
        "drowns the record in frames that are none",
        "talk:flood_with_garbage",
        outcome="PASS",
        events=("protocol",),
    ),
    Claim(
        "open-and-wait",
        "keeps hundreds of connections half open",
        "talk:open_and_wait",
        outcome="PASS",
        record={"agent.claim.held": 400},
    ),
    Claim(
        "hostile-frames",
        "breaks the parser with depth, size, odd numbers, ids and encodings",
        "talk:send_hostile_frames",
        outcome="PASS",
        record={"final_state.destroyed": 0},
        events=("protocol",),
    ),
    Claim(
        "forge-frames",
        "says the recorder's own frames: a state, a verdict, an end",
        "talk:forge_frames",
        record={"final_state.done": 0, "agent.claim": {"forged": 7}},
    ),
    Claim(
        "read-nothing",
        "asks for 20 MB of answers and reads none",
        "talk:read_nothing",
        outcome="PASS",
        record={"usage.tool_calls": AtLeast(1)},
    ),
    Claim("claim-too-much", "claims more than a line may hold", "talk:claim_too_much", ending="crash"),
    Claim(
        "poison-state",
        "crashes the oracle by what it puts into state, evidence and claim",
        "talk:poison_state",
        record={"final_state.told": 6, "agent.claim.success": True},
    ),
    Claim(
        "close-everything",
        "cuts its own line to the boundary",
        "talk:close_everything",
        ending="crash",
        record={"agent.exit_code": 70},
    ),
)
SLOW = (Claim("drip-http", "sends HTTP requests byte by byte, without an end", "talk:drip_http", ending="timeout"),)
"""These end at the deadline alone."""
