"""The examples: their descriptors, the counts that they promise, and that no agent's folder holds world or oracle."""

from __future__ import annotations

import importlib.util
import json
import random
import re
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

Step = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


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
    make, judge = function(project, str(manifest.environment.ref)), function(project, str(manifest.grader.ref))
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
    make = function(descriptor.root / "world", str(manifest.environment.ref))
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
    requests = image_requests(descriptor)
    for arm in ("baseline", "candidate"):
        context = requests[arm].context
        assert context is not None
        names = {relative for relative, _ in context_files(context)}
        assert names
        assert not names & {"oracle.py", "world.py", "server.py"}
        assert requests[arm] not in (requests["boundary"], requests["grader"])


@pytest.mark.parametrize("path", DESCRIPTORS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_example_says_first_how_it_ends_and_is_large_enough_for_that(path: Path) -> None:
    descriptor, _ = loaded(str(path.relative_to(EXAMPLES)), backend="docker")
    found = re.search(r"Expected: (PASS|BLOCK)", path.read_text(encoding="utf-8").splitlines()[0])
    assert found is not None
    too_small = [warning for warning in descriptor.warnings if f"can never {found[1]}" in warning]
    assert too_small == []
    assert all("can never" in warning for warning in descriptor.warnings)


def booked(window: int) -> list[Step]:
    return [("list_windows", {"parcel": "P-100"}), ("book_pickup", {"parcel": "P-100", "window": window})]


def ticket(customer: str) -> list[Step]:
    return [("open_ticket", {"customer": customer, "subject": "cold"})]


DEPLOY: Step = ("deploy", {"service": "web", "version": "2.0"})


@pytest.mark.parametrize(
    ("name", "steps", "is_right"),
    [
        ("c_agent", [("read_temperature", {})], False),
        ("c_agent", [("set_heater", {"on": False})], True),
        ("node_sdk", booked(0), True),
        ("node_sdk", booked(1), False),
        ("node_sdk", booked(0) * 2, False),
        ("pydantic_ai", [("find_customer", {"email": "ada@example.org"})], False),
        ("pydantic_ai", ticket("right"), True),
        ("pydantic_ai", ticket("wrong"), False),
        ("pydantic_ai", ticket("right") * 2, False),
        ("shell_agent", [("get_version", {"service": "web"})], False),
        ("shell_agent", [DEPLOY], True),
        ("shell_agent", [DEPLOY, DEPLOY], False),
    ],
)
def test_the_worlds_of_command_agents_are_judged_by_what_was_done(name: str, steps: list[Step], is_right: bool) -> None:
    """With the seed 1: the shell's cluster runs another version then."""
    descriptor, manifest = loaded(f"{name}/arci.yaml", backend="docker")
    project, task = descriptor.root / manifest.project_source, manifest.tasks[0].value
    world = function(project, str(manifest.environment.ref))(task, 1)
    for tool, arguments in steps:
        world.tools[tool](**{key: meant(world, key, value) for key, value in arguments.items()})
    state = json.loads(json.dumps(world.snapshot()))
    assert function(project, str(manifest.grader.ref))(task, state) is is_right


def meant(world: Any, key: str, value: Any) -> Any:
    """What only the world knows: a window by its number, the right customer."""
    if key == "window":
        return world.windows[value]
    return world.customers["ada@example.org"] if (key, value) == ("customer", "right") else value


def test_a_world_is_drawn_from_its_seed_alone() -> None:
    for name in ("c_agent", "node_sdk", "pydantic_ai", "shell_agent"):
        descriptor, manifest = loaded(f"{name}/arci.yaml", backend="docker")
        make = function(descriptor.root / manifest.project_source, str(manifest.environment.ref))
        states = [[make(manifest.tasks[0].value, seed).snapshot() for seed in range(8)] for _ in range(2)]
        assert states[0] == states[1]
        assert len({json.dumps(state) for state in states[0]}) > 1


@pytest.mark.parametrize("path", DESCRIPTORS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_example_fits_the_printed_schema(path: Path) -> None:
    import jsonschema

    from arci.manifest.strict_yaml import read_yaml

    node, _ = read_yaml(path.read_bytes())
    assert node is not None
    jsonschema.Draft202012Validator(json_schema()).validate(node.plain())
