"""The examples: their descriptors, the counts that they promise, and that no agent's folder holds world or oracle."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arci.agent import ToolFault
from arci.manifest.context import context_files
from arci.manifest.descriptor import Descriptor, Overrides, json_schema, load_descriptor
from arci.manifest.images import image_requests
from arci.manifest.schedule import schedule
from arci.manifest.seal import seal
from arci.model.manifest import Condition, Manifest
from arci.model.trial import Trial
from arci.stats.intervals import clopper_pearson

EXAMPLES = Path(__file__).parents[2] / "examples"
DESCRIPTORS = sorted(EXAMPLES.glob("*/*.yaml"))


def loaded(name: str, backend: str = "process") -> tuple[Descriptor, Manifest]:
    descriptor = load_descriptor(EXAMPLES / name, overrides=Overrides(backend=backend))
    return descriptor, Manifest.from_document(seal(descriptor, images={}, runtime_sha256="0"))


def function(root: Path, reference: str) -> Callable[..., Any]:
    module_name, name = reference.split(":")
    path = root / f"{module_name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}_{module_name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


class Tools:
    """The boundary in a few lines: faults are not executed; what a tool raises is a ToolFault."""

    def __init__(self, world: Any, condition: Condition) -> None:
        self.world = world
        self.condition = condition
        self.calls: dict[str, int] = {}

    def call(self, name: str, /, **arguments: Any) -> Any:
        occurrence = self.calls.get(name, 0)
        self.calls[name] = occurrence + 1
        for fault in self.condition.faults:
            assert fault.name in ("tool_timeout", "tool_error_once")
            if fault.tool == name and fault.occurrence.n == occurrence:
                raise ToolFault("timeout" if fault.name == "tool_timeout" else "error", "injected")
        try:
            return json.loads(json.dumps(self.world.tools[name](**arguments)))
        except RuntimeError as error:
            raise ToolFault("error", str(error)) from error

    def note_model_step(self, summary: str, /, **facts: Any) -> None:
        assert summary


def successes(name: str, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], int]:
    """(condition, arm) -> how many of its trials the oracle accepts."""
    descriptor, manifest = loaded(name)
    monkeypatch.setenv("ARCI_WORKDIR", str(workdir))
    project = descriptor.root / manifest.project_source
    make, judge = function(project, manifest.environment.ref), function(project, str(manifest.grader.ref))
    agents = {arm: function(descriptor.root / spec.source, str(spec.ref)) for arm, spec in manifest.arms.items()}
    counts = {(c.id, arm): 0 for c in manifest.conditions for arm in manifest.arms}
    for trial in schedule(manifest):
        world = make(trial.task, trial.seed)
        tools = Tools(world, manifest.condition(trial.condition_id))
        agents[trial.arm](dict(trial.task), tools, random.Random(f"{trial.seed}:agent"))
        counts[trial.condition_id, trial.arm] += judged(judge, manifest, trial, world.snapshot(), workdir)
        assert sum(tools.calls.values()) <= manifest.budgets.max_tool_calls
    return counts


def judged(judge: Callable[..., Any], manifest: Manifest, trial: Trial, state: Any, workdir: Path) -> bool:
    if not manifest.evidence:
        return bool(judge(trial.task, state))
    files = {name: {"text": (workdir / name).read_text(encoding="utf-8")} for name in manifest.evidence}
    for name in manifest.evidence:
        (workdir / name).unlink()
    return bool(judge(trial.task, state, {"files": files, "claim": None}))


@pytest.mark.parametrize(("other", "expected"), [("a", 192), ("b", 132), ("c", 192)])
def test_the_retry_agents_pass_as_often_as_promised(
    other: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = successes(f"retry_agent/a-vs-{other}.yaml", tmp_path, monkeypatch)
    assert counts == {("reserve-timeout", "baseline"): 192, ("reserve-timeout", "candidate"): expected}


def test_the_seeds_of_the_retry_experiment_hold_the_known_worlds() -> None:
    descriptor, manifest = loaded("retry_agent/a-vs-b.yaml")
    make = function(descriptor.root / "world", manifest.environment.ref)
    worlds = [make(manifest.tasks[0].value, 12000 + index) for index in range(200)]
    assert sum(bool(world.reservations) for world in worlds) == 135
    assert sum(world.transient_failures == 4 for world in worlds) == 8


def test_the_file_report_decides_as_its_comment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = successes("file_report/arci.yaml", tmp_path, monkeypatch)
    assert counts == {
        ("clean", "baseline"): 50,
        ("clean", "candidate"): 50,
        ("third-read", "baseline"): 50,
        ("third-read", "candidate"): 24,
    }
    perfect, worse = clopper_pearson(50, 50, 0.05 / 8), clopper_pearson(24, 50, 0.05 / 8)
    assert round(perfect.low - 1, 4) == -0.0965
    assert (round(worse.low - 1, 4), round(worse.high - perfect.low, 4)) == (-0.6976, -0.2422)


@pytest.mark.parametrize("path", DESCRIPTORS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_example_keeps_agents_apart_from_world_and_oracle(path: Path) -> None:
    descriptor, _ = loaded(str(path.relative_to(EXAMPLES)), backend="docker")
    assert descriptor.warnings == ()
    requests = image_requests(descriptor)
    for arm in ("baseline", "candidate"):
        context = requests[arm].context
        assert context is not None
        assert [relative for relative, _ in context_files(context)] == ["agent.py"]
    assert requests["boundary"] == requests["grader"]
    assert requests["grader"] not in (requests["baseline"], requests["candidate"])


@pytest.mark.parametrize("path", DESCRIPTORS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_example_fits_the_printed_schema(path: Path) -> None:
    import jsonschema

    from arci.manifest.strict_yaml import read_yaml

    node, _ = read_yaml(path.read_bytes())
    assert node is not None
    jsonschema.Draft202012Validator(json_schema()).validate(node.plain())
