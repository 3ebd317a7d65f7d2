"""The demo without its trials: its files, its figures, where it writes, and how its story ends."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from docs_pages import ROOT
from e2e import EXAMPLES, call

from arci.demo.place import EXAMPLE_FILES, OWN_FILES, choose_directory, write_files
from arci.demo.scene import BLOCKS_FROM, PASSES_FROM, TRIALS, Scene, Step, Story
from arci.demo.story import STEPS, Act, tell
from arci.demo.telling import render_end, render_scene, render_step, shell_line, story_document
from arci.errors import ArciError, EngineUnavailable, UsageError
from arci.manifest.descriptor import load_descriptor
from arci.model.trial import Verdict
from arci.stats.intervals import Interval, clopper_pearson, difference
from arci.stats.rule import judge, tail_level

EXAMPLE = EXAMPLES / "retry_agent"
SEED, ALPHA, DELTA = 12000, 0.05, 0.10
STEP = Step("A title", True, "What it shows.", (("arci", "show", "runs/x", "a b"),), {"n": 1})


def act(step: Step) -> Act:
    async def made(scene: Scene) -> tuple[Scene, Step]:
        return replace(scene, failing={"index": scene.failing.get("index", 0) + 1}), step

    return made


def raising(error: Exception) -> Act:
    async def broken(scene: Scene) -> tuple[Scene, Step]:
        raise error

    return broken


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_all_of_the_example_but_its_page_is_played() -> None:
    there = {str(p.relative_to(EXAMPLE)) for p in EXAMPLE.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert there - {"README.md"} == set(EXAMPLE_FILES)


def test_the_wheel_carries_the_example() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["force-include"]["examples/retry_agent"] == "arci/_examples/retry_agent"


def test_what_is_written_are_the_example_s_files_and_descriptors_that_load(tmp_path: Path) -> None:
    write_files(tmp_path / "new")
    for name in EXAMPLE_FILES:
        assert (tmp_path / "new" / name).read_bytes() == (EXAMPLE / name).read_bytes()
    frozen = load_descriptor(tmp_path / "new" / "a-vs-b.yaml")
    for name in OWN_FILES:
        descriptor = load_descriptor(tmp_path / "new" / name)
        assert descriptor.document["tasks"] == frozen.document["tasks"]
        assert descriptor.document["arms"] == frozen.document["arms"]
        assert descriptor.document["base_seed"] == SEED + 5
    assert len(list((tmp_path / "new").rglob("*.*"))) == len(EXAMPLE_FILES) + len(OWN_FILES)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArciError, match=r"file/a-vs-a\.yaml"):
        write_files(tmp_path / "file")


def successes(n: int) -> tuple[int, int]:
    """Of agents A and B in the first n worlds, as the example draws them."""
    seeds = range(SEED, SEED + n)
    works = [random.Random(f"{seed}:backend-confirm").random() >= 0.04 for seed in seeds]
    is_reserved = [random.Random(f"{seed}:reservation").random() < 0.65 for seed in seeds]
    return sum(works), sum(w and r for w, r in zip(works, is_reserved, strict=True))


def verdict(baseline: int, candidate: int, n: int) -> Verdict:
    tail = tail_level(ALPHA, 1)
    a, b = (clopper_pearson(count, n, tail) for count in (baseline, candidate))
    bounds: Interval = difference(a, b)
    return judge(bounds, DELTA)


def test_the_numbers_of_trials_are_those_that_block_and_pass() -> None:
    most = 2 * TRIALS
    blocks = {n for n in range(8, most) if verdict(*successes(n), n) == Verdict.BLOCK}
    accepted = set()
    for n in range(8, most):
        try:
            accepted.add(Scene(Path(), n=n).n)
        except UsageError:
            continue
    assert (accepted, min(accepted)) == (blocks, BLOCKS_FROM)
    passes = [verdict(successes(n)[0], successes(n)[0], n) == Verdict.PASS for n in range(PASSES_FROM - 1, most)]
    assert (passes[0], all(passes[1:])) == (False, True)


def test_without_a_name_the_first_free_one_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert choose_directory(None) == Path("arci-demo")
    (tmp_path / "arci-demo").mkdir()
    (tmp_path / "arci-demo-2").symlink_to("nowhere")
    assert choose_directory(None) == Path("arci-demo-3")


def test_a_directory_that_holds_something_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new").mkdir()
    assert choose_directory(tmp_path / "new") == tmp_path / "new"
    (tmp_path / "new" / "mine").touch()
    ended = call(capsys, "demo", "--out", tmp_path / "new")
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert str(tmp_path / "new") in ended.stderr
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine"]


@pytest.mark.parametrize("n", ["51", "64"])
def test_so_few_trials_that_there_is_no_block_are_refused_at_once(
    n: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "demo", "--n", n, "--out", tmp_path / "new")
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert ended.stderr.startswith(f"arci: --n: {n}; ")
    assert not (tmp_path / "new").exists()


def ignore(number: int, step: Step) -> None:
    pass


@pytest.mark.anyio
async def test_a_story_whose_steps_hold_ends_with_0(scene: Scene) -> None:
    told: list[int] = []
    story = await tell(scene, lambda number, step: told.append(number), (act(STEP),) * 3)
    assert (story.holds, story.exit_code, told) == (True, 0, [1, 2, 3])
    assert story.scene.failing == {"index": 3}  # each got what the one before it left
    assert render_end(story) == "\nAll 3 steps hold.\n"


@pytest.mark.anyio
async def test_a_step_that_does_not_hold_ends_the_story_with_3(scene: Scene) -> None:
    story = await tell(scene, ignore, (act(STEP), act(replace(STEP, holds=False)), raising(AssertionError())))
    assert (story.holds, story.exit_code, len(story.steps)) == (False, 3, 2)
    assert render_end(story) == "\nStep 2 does not hold; 1 after it were not made.\n"


@pytest.mark.anyio
async def test_a_step_that_breaks_does_not_hold_and_says_why(scene: Scene) -> None:
    story = await tell(scene, ignore, (raising(ArciError("the disk is full", hint="make room")),))
    assert (story.exit_code, story.steps[0].shows) == (3, "the disk is full. Hint: make room")


@pytest.mark.anyio
async def test_an_engine_that_is_not_there_is_no_step_but_the_command_s_end(scene: Scene) -> None:
    with pytest.raises(EngineUnavailable):
        await tell(scene, ignore, (raising(EngineUnavailable("nothing answers")),))


def test_without_an_engine_the_demo_in_containers_ends_with_69(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arci.isolation.docker.engine.FORBIDDEN", None)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    ended = call(capsys, "demo", "--isolation", "docker", "--out", tmp_path / "new", "--json")
    assert (ended.exit_code, ended.stdout) == (69, "")
    assert "nothing.sock" in ended.stderr
    assert not (tmp_path / "new").exists()


def test_a_step_is_told_with_its_commands_as_they_are_typed(scene: Scene) -> None:
    assert render_step(2, STEP) == "\n2. A title: holds\n   What it shows.\n     arci show runs/x 'a b'\n"
    assert render_step(2, replace(STEP, holds=False)).startswith("\n2. A title: DOES NOT HOLD\n")
    long = render_step(1, replace(STEP, shows="many words " * 60)) + render_scene(scene)
    assert max(map(len, long.splitlines())) <= 100
    assert shell_line(("arci", "a b")) == "arci 'a b'"


@pytest.mark.parametrize(("holds", "exit_code"), [(True, 0), (False, 3)])
def test_the_summary_for_machines_has_what_each_step_was_judged_by(holds: bool, exit_code: int, scene: Scene) -> None:
    told = story_document(Story(scene, (STEP, replace(STEP, holds=holds)), 2))
    assert (told["holds"], told["exit_code"], told["isolation"], told["n_per_arm"]) == (
        holds,
        exit_code,
        "process",
        200,
    )
    assert [(step["step"], step["holds"]) for step in told["steps"]] == [(1, True), (2, holds)]
    assert told["steps"][0]["commands"] == [["arci", "show", "runs/x", "a b"]]
    assert told["steps"][0]["facts"] == {"n": 1}


def test_there_are_six_steps() -> None:
    names: list[Callable[..., object]] = list(STEPS)
    assert len(set(names)) == 6
