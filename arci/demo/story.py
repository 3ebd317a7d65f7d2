"""`arci demo`, step by step: each takes the scene, does what its commands do, and judges what came of it.

A step that does not hold, or that something broke, ends the story: the next ones build on it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from arci.demo.experiments import counts, run_command, run_experiment, try_candidate, try_command
from arci.demo.scene import PASSES_FROM, TRIALS, Scene, Step, Story
from arci.errors import ArciError, EngineUnavailable
from arci.model.trial import Outcome, Verdict

__all__ = ["STEPS", "Act", "tell"]

Act = Callable[[Scene], Awaitable[tuple[Scene, Step]]]

_RUN = "runs/retry-a-vs-b"
_SMALLEST, _BUNDLE = "smallest.arci.json", "failure.arci"
_MOST_TRIALS = 5
_KNOWN = {"baseline": "192/200", "candidate": "132/200"}
"""With all the trials that the experiment was frozen with."""


async def look_alike(scene: Scene) -> tuple[Scene, Step]:
    """One clean trial of each agent: nothing tells them apart."""
    from arci.diagnose.check import Agreement, check_traces

    run, (a, b) = "runs/retry-one-order", ("clean:00000:baseline", "clean:00000:candidate")
    ended = await run_experiment(scene, "one-order.yaml")
    agreement, compared, _ = check_traces(scene.path(run), a, scene.path(run), b)
    outcomes = {trial: str(record["outcome"]) for trial, record in ended.records.items()}
    steps = 0 if compared is None else compared.divergence.a.count
    return scene, Step(
        title="One clean run each looks the same",
        holds=outcomes == {a: Outcome.PASS, b: Outcome.PASS} and agreement == Agreement.MATCH,
        shows=f"Agent B is agent A after a tidy-up. Where nothing goes wrong, both confirm the order in the same "
        f"{steps} steps: {agreement.value}. A test with one run each would let B through.",
        commands=(run_command(scene, "one-order.yaml"), ("arci", "trace-check", run, a, run, b)),
        facts={"outcomes": outcomes, "agreement": agreement.value, "steps": steps},
    )


async def block(scene: Scene) -> tuple[Scene, Step]:
    """The frozen experiment: the first `reserve` times out."""
    ended = await run_experiment(scene, "a-vs-b.yaml", scene.n)
    verdict, condition, passed = ended.decision.verdict, ended.condition, counts(ended.condition)
    low, high = condition.delta_low or 0.0, condition.delta_high or 0.0
    return scene, Step(
        title="The frozen experiment blocks",
        holds=verdict == Verdict.BLOCK and (scene.n != TRIALS or passed == _KNOWN),
        shows=f"The first `reserve` times out. A passes {passed['baseline']}, B {passed['candidate']}: "
        f"{verdict.value}. B minus A is within [{low:.4f}, {high:.4f}]; a drop of {ended.decision.delta} is allowed.",
        commands=(run_command(scene, "a-vs-b.yaml", scene.n if scene.n != TRIALS else None),),
        facts={"verdict": verdict.value, "passed": passed, "delta_low": low, "delta_high": high},
    )


async def part(scene: Scene) -> tuple[Scene, Step]:
    """A failure beside the trial of the other arm that had the same seed."""
    from arci.diagnose.triage import triage_run

    case = triage_run(scene.path(_RUN)).cases[0]
    record, divergence = case.representative.record, case.divergence
    if case.partner is None or divergence is None or divergence.index is None:
        raise ArciError(f"{case.representative.trial_id}: has no trial of the other arm beside it, or no difference.")
    met = {side.trial_id: side.last_injection or {} for side in (divergence.a, divergence.b)}
    named = {trial: f"{fault.get('fault')} on {fault.get('tool')}" for trial, fault in met.items()}
    outcomes = (case.partner.record["outcome"], record["outcome"])
    failing, passing, number = case.representative.trial_id, case.partner.trial_id, divergence.index + 1
    return replace(scene, failing=record), Step(
        title="Where a passing and a failing run part",
        holds=outcomes == (Outcome.PASS, Outcome.FAIL) and set(named.values()) == {"tool_timeout on reserve"},
        shows=f"Seed {record['seed']}, in the same world: both are told that `reserve` timed out, and part at step "
        f"{number}. A reserves again; B says {_said(divergence.b.step)!r} and confirms what was never reserved.",
        commands=(("arci", "triage", _RUN), ("arci", "diff", _RUN, passing, failing)),
        facts={"passing": passing, "failing": failing, "fingerprint": record["fingerprint"], "step": number},
    )


def _said(step: object) -> str:
    return str(step.get("summary")) if isinstance(step, dict) else "nothing"


async def shrink(scene: Scene) -> tuple[Scene, Step]:
    """Three faults at once, of which one is enough."""
    from arci.diagnose.minimise import Rules
    from arci.failures import minimise_trial

    run, trial = "runs/retry-three-faults", "bad-day:00000:candidate"
    await run_experiment(scene, "three-faults.yaml")
    found = await minimise_trial(scene.path(run), trial, scene.path(_SMALLEST), Rules(), scene.notice)
    left = [f"{fault['name']} on {fault['tool']}" for fault in found.after.faults]
    fingerprint = str(found.document["volatile"]["reproduces"]["fingerprint"])
    is_same, before = fingerprint == scene.failing["fingerprint"], len(found.before.faults)
    is_small = found.kind == "1-minimal" and (before, left) == (3, ["tool_timeout on reserve"])
    return replace(scene, reproducer=found.document), Step(
        title="Three injected faults shrink to one",
        holds=is_small and is_same and found.trials <= _MOST_TRIALS,
        shows=f"On a bad day three calls are disturbed, and B fails. Of {before} faults {len(left)} is left after "
        f"{found.trials} trials: {' and '.join(left) or 'none'}. {found.kind}, and the same failure as in step 3.",
        commands=(
            run_command(scene, "three-faults.yaml"),
            ("arci", "minimize", run, trial, "--out", _SMALLEST),
        ),
        facts={"result": found.kind, "trials": found.trials, "faults": left, "same_failure": is_same},
    )


async def reproduce(scene: Scene) -> tuple[Scene, Step]:
    """The reduced failure as one file, and again out of it."""
    from arci.diagnose.bundled import replay_bundle
    from arci.failures import BundleOrder, bundle_trial

    out = scene.path(_BUNDLE)
    document = await bundle_trial(BundleOrder(scene.path(_SMALLEST), None, out), scene.notice)
    found = await replay_bundle(out, notice=scene.notice)
    verdict, size = found.verdict.value, out.stat().st_size
    inside = "the sources" if scene.backend == "process" else f"all images ({len(document.layers)} layers)"
    return scene, Step(
        title="The reduced failure replays offline",
        holds=found.verdict.exit_code == 0 and found.is_same_trace,
        shows=f"One file with {inside} and the trial, {_size(size)}. The agent and the oracle run again; for inventory "
        f"and fault the recording answers, and nothing outside is asked: {verdict}.",
        commands=(("arci", "bundle", _SMALLEST, "--out", _BUNDLE), ("arci", "replay", _BUNDLE)),
        facts={"verdict": verdict, "reason": found.reason, "same_trace": found.is_same_trace, "bytes": size},
    )


def _size(count: int) -> str:
    return f"{count >> 10} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


async def repair(scene: Scene) -> tuple[Scene, Step]:
    """Agent C in the failure's own trial, and in an experiment of its own."""
    name, n = "a-vs-c.yaml", max(scene.n, PASSES_FROM)
    index = int(scene.failing["index"])
    sealed, record = await try_candidate(scene, name, index)
    ended = await run_experiment(scene, name, n)
    verdict, passed, smallest = ended.decision.verdict, counts(ended.condition), scene.reproducer
    is_it = record["seed"] == smallest["base_seed"] and _disturbed(sealed) == _disturbed(smallest)
    more = f" ({n} each, since a PASS takes more than a BLOCK)" if n != scene.n else ""
    return scene, Step(
        title="The repair passes the reproducer and its own experiment",
        holds=is_it and record["outcome"] == Outcome.PASS and verdict == Verdict.PASS,
        shows=f"Agent C retries `reserve`. With the one fault and the seed that B failed with: {record['outcome']}. A "
        f"against C: {passed['baseline']} and {passed['candidate']}{more}: {verdict.value}.",
        commands=(try_command(scene, name, index), run_command(scene, name, n if n != TRIALS else None)),
        facts={"reproducer": record["outcome"], "same_trial": is_it, "verdict": verdict.value, "passed": passed},
    )


def _disturbed(document: Mapping[str, Any]) -> tuple[Any, Any]:
    """The tasks, and what happens to the one condition's calls."""
    (condition,) = document["conditions"]
    return document["tasks"], condition["faults"]


STEPS: tuple[Act, ...] = (look_alike, block, part, shrink, reproduce, repair)


async def tell(scene: Scene, told: Callable[[int, Step], None], steps: tuple[Act, ...] = STEPS) -> Story:
    """The steps in order; `told` gets the number (from 1) and the step as each ends. EngineUnavailable is raised."""
    made: list[Step] = []
    for number, act in enumerate(steps, start=1):
        scene.notice(f"step {number} of {len(steps)}")
        try:
            scene, step = await act(scene)
        except EngineUnavailable:
            raise
        except ArciError as error:
            step = Step(f"Step {number} broke", False, str(error), (), {"error": str(error)})
        made.append(step)
        told(number, step)
        if not step.holds:
            break
    return Story(scene, tuple(made), len(steps))
