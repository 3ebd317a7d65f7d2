"""A plan as the text of a descriptor, with a comment wherever the next step of its reader begins. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arci.manifest.cautions import least_n_to_pass
from arci.scaffold.answers import ArmPlan, FaultPlan, Plan
from arci.scaffold.flow import flow

__all__ = ["SMOKE_N", "render_plan"]

SMOKE_N = 8
"""The least at which one condition can BLOCK at all, and only a total collapse."""
_ALPHA, _DELTA = 0.05, 0.1


def render_plan(plan: Plan) -> str:
    """`arci.yaml`, which loads as the plan says."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield "# Did the candidate become less reliable than the baseline? `arci try` makes one trial, `arci run` decides."
    yield f"experiment_id: {flow(plan.experiment_id)}"
    yield ""
    yield "# What the agent is to do: any JSON object. Agent, tools and oracle are given it."
    yield f"task_file: {flow(plan.task_file)}" if plan.task_file else f"task: {flow(plan.task)}"
    yield ""
    yield from _environment(plan)
    yield ""
    yield from _judge(plan)
    yield ""
    yield "# The change under test: two versions of the agent."
    for name, arm in plan.arms.items():
        yield f"{name}: {_arm(name, arm)}"
    yield ""
    yield from _conditions(plan.faults)
    yield ""
    yield from _design(max(1, len(plan.faults)))
    yield ""
    yield from _isolation(plan)


def _environment(plan: Plan) -> Iterator[str]:
    if plan.server is None:
        yield "# The tools: (task, seed) -> object with .tools and .snapshot(). A new one is made for each trial."
        yield f"toolset: {flow(plan.toolset)}"
        return
    yield "# The tools: an MCP server over stdio, started anew for each trial in a directory of its own."
    yield "mcp_server:"
    if plan.server.image is not None:
        yield f"  image: {flow(plan.server.image)}"
    if plan.server.argv:
        yield f"  argv: {flow(plan.server.argv)} # {{source}}, {{workdir}}, {{task_file}} and {{seed}} are filled in"
    if plan.server.snapshot is not None:
        yield "  # How its state is read for the oracle, before and after the agent; the agent cannot."
        yield f"  snapshot: {flow(plan.server.snapshot)}"
    else:
        yield "  # The oracle sees no state. `snapshot: {tool: NAME}`, `{resource: URI}` or `{files: [PATH]}` shows it."


def _judge(plan: Plan) -> Iterator[str]:
    if plan.oracle is not None:
        yield "# Is the final state right: (task, final_state) or (task, final_state, evidence) -> True or False."
        yield f"oracle: {flow(plan.oracle)}"
        return
    yield '# Is the final state right: JSON on stdin, {"success": true} or {"success": false} on stdout.'
    yield f"grader: {{command: {{argv: {flow(plan.grader)}}}}}"


def _arm(name: str, arm: ArmPlan) -> str:
    if arm.ref is not None and arm.image is None:
        return flow(arm.ref)
    parts = [f"label: {name}"]
    if arm.image is not None:
        parts.append(f"image: {flow(arm.image)}")
    if arm.ref is not None:
        parts.append(f"agent: {flow(arm.ref)}")
    elif arm.argv:
        parts.append(f"command: {{argv: {flow(arm.argv)}}}")
    else:
        parts.append("command: {}")
    return "{" + ", ".join(parts) + "}"


def _conditions(faults: tuple[FaultPlan, ...]) -> Iterator[str]:
    yield "# Under what both are tried. Each condition makes its own trials, and shares alpha with the others."
    yield "conditions:"
    if not faults:
        yield "  - id: clean"
        yield "  # - id: answer-lost"
        yield "  #   fault: {name: lost_response, tool: TOOL, occurrence: 0}"
    ids = [_condition_id(fault) for fault in faults]
    for number, (name, fault) in enumerate(zip(ids, faults, strict=True)):
        earlier = ids[:number].count(name)
        yield f"  - id: {flow(f'{name}-{earlier + 1}' if earlier else name)}"
        yield f"    fault: {_fault(fault)}"


def _condition_id(fault: FaultPlan) -> str:
    """Such as `tool-timeout-reserve`."""
    words = fault.name if fault.tool is None else f"{fault.name}-{fault.tool}"
    return re.sub(r"[^A-Za-z0-9.]+", "-", words).strip("-.")[:100]


def _fault(fault: FaultPlan) -> str:
    parts = [f"name: {flow(fault.name)}"]
    if fault.tool is not None:
        parts.append(f"tool: {flow(fault.tool)}")
    if fault.occurrence is not None:
        parts.append(f"occurrence: {flow(fault.occurrence)}")
    return "{" + ", ".join(parts) + "}"


def _design(gating: int) -> Iterator[str]:
    least = least_n_to_pass(_ALPHA / (4 * gating), _DELTA)
    yield f"# A smoke design, to see it work: {SMOKE_N} trials per arm and condition mostly give INCONCLUSIVE."
    yield f"# PASS (any drop is smaller than delta) needs {least} or more; a good first design: `arci run --n 200`."
    yield f"n_per_arm: {SMOKE_N}"
    yield f"alpha: {_ALPHA}"
    yield f"delta: {_DELTA}"
    yield ""
    yield "# What one trial may use."
    yield "budgets: {max_tool_calls: 30, max_seconds: 60}"


def _isolation(plan: Plan) -> Iterator[str]:
    if plan.backend == "docker":
        yield "# Every trial in fresh containers. What has no image of its own is built from this folder."
        yield "isolation: docker"
        return
    yield "# Local processes: quick, and nothing is isolated. `docker`: every trial in fresh containers."
    yield "isolation: process"
