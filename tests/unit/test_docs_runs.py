"""What the pages promise of real runs: every page that shows an experiment is run as it stands, with processes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT, blocks, files, page, prose, shown_commands, tables, write
from played import full_size

pytestmark = pytest.mark.timeout(900)

PROMISES = re.compile(
    r"^    arci run (examples/\S+) --isolation docker\s+# (\w+), exit (\d): (\d+/\d+) against (\d+/\d+)$", re.MULTILINE
)
"""A command in an example's own page, and what it says of its end (of the condition that decides it, the last one)."""
promises = [
    pytest.param(*promise, id=promise[0])
    for path in sorted(ROOT.glob("examples/*/README.md"))
    for promise in PROMISES.findall(path.read_text(encoding="utf-8"))
]


@dataclass(frozen=True)
class Ran:
    code: int
    output: str
    directory: Path

    @property
    def decision(self) -> dict[str, Any]:
        decision: dict[str, Any] = json.loads((self.directory / "decision.json").read_bytes())
        return decision

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.directory / name).read_bytes().splitlines()]


def arci(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "arci", *words]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def ran(place: Path, name: str, *words: str) -> Ran:
    """`arci run` in `place`; `name` is the experiment's id."""
    done = arci(place, "run", *words)
    assert done.returncode in (0, 1, 2, 3), done.stderr
    return Ran(done.returncode, done.stdout, place / "runs" / name)


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ran]:
    """A descriptor below `examples/` -> its run as it stands, the same that other tests read."""

    def run(path: str) -> Ran:
        ended, directory = full_size(tmp_path_factory, path.removeprefix("examples/"))
        return Ran(ended.exit_code, ended.stdout, directory)

    return run


def assert_shown(shown: str, output: str) -> None:
    """Every line of what a page shows, but `...`, is in the output."""
    real = {line.rstrip() for line in output.splitlines()}
    missing = [line for line in shown.splitlines() if line != "..." and line.rstrip() not in real]
    assert not missing, output


@pytest.mark.parametrize(("path", "verdict", "code", "baseline", "candidate"), promises)
def test_an_example_ends_as_its_page_says(
    example: Callable[[str], Ran], path: str, verdict: str, code: str, baseline: str, candidate: str
) -> None:
    run = example(path)
    assert (run.decision["verdict"], run.code) == (verdict, int(code))
    last = run.decision["conditions"][-1]
    counts = [f"{last[arm]['successes']}/{last[arm]['n']}" for arm in ("baseline", "candidate")]
    assert counts == [baseline, candidate]


def test_every_example_is_promised_a_verdict() -> None:
    """Those that need containers are run by the tests with the engine, against the first line of each."""
    descriptors = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("examples/*/*.yaml")
    }
    in_containers = {path for path, text in descriptors.items() if "\nisolation: docker" in text}
    assert all(
        re.match(r"# .* Expected: (BLOCK|PASS), \d+/\d+ against \d+/\d+\.", descriptors[p]) for p in in_containers
    )
    assert {promise.values[0] for promise in promises} == set(descriptors) - in_containers


def test_the_readme_shows_what_the_demo_prints(example: Callable[[str], Ran]) -> None:
    shown, _ = [block.text for block in blocks(page("README.md"), "text")]  # the other is of `arci demo`
    *lines, last = shown.splitlines()
    run = example("examples/retry_agent/a-vs-b.yaml")
    assert_shown("\n".join(lines), arci(ROOT, "report", str(run.directory)).stdout)
    assert f'"{last}"' in page("scripts/demo.sh")
    (condition,) = run.decision["conditions"]
    assert [round(condition[key], 4) for key in ("delta_low", "delta_high")] == [-0.4048, -0.1829]


def test_the_page_on_the_store_names_the_keys_of_a_record(example: Callable[[str], Ran]) -> None:
    run, text = example("examples/retry_agent/a-vs-b.yaml"), page("docs/reference/store.md")
    (rows,) = tables(text).values()
    named = {key for row in rows for key in re.findall(r"`(\w+)`", row[0])}
    assert {key for record in run.lines("trials.jsonl") for key in record} == named
    (sentence,) = re.findall(r"^`run\.json`: (.*?)\. One", text, re.MULTILINE | re.DOTALL)
    (info,) = run.lines("run.json")
    assert set(info) == set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", sentence)))


def test_the_page_on_frames_names_every_event(example: Callable[[str], Ran]) -> None:
    text = page("docs/reference/control-channel.md")
    events = [event for event in example("examples/retry_agent/a-vs-b.yaml").lines("events.jsonl") if "seq" in event]
    for event in events:
        assert f"`{event['kind']}`" in text
        assert all(f"`{key}`" in text for key in event.keys() - {"trial_id", "seq", "sha256"})  # the seal's own
    assert len({event["kind"] for event in events}) == 7


def test_the_agent_of_the_readme_runs(tmp_path: Path) -> None:
    shown = files(page("README.md"))
    write(tmp_path, {**shown, "after/agent.py": shown["before/agent.py"]})
    run = ran(tmp_path, "send-mail", "--n", "50")
    assert (run.code, run.decision["verdict"]) == (0, "PASS")
    (condition,) = run.decision["conditions"]
    assert condition["injections"] == {"baseline": 50, "candidate": 50}


def test_the_first_experiment_goes_as_its_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/first-experiment.md")
    write(tmp_path, files(text))
    first, mended = [block.text for block in blocks(text, "text")]
    plain, *looks, with_docker = [words for words in shown_commands(text) if words[0] != "init"]
    assert (plain, with_docker) == (["run"], ["run", "--isolation", "docker", "--force"])
    run = ran(tmp_path, "pay-order")
    assert_shown(first, run.output)
    assert run.code == 1
    for words in looks:
        done = arci(tmp_path, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert arci(tmp_path, "run").returncode == 64  # refused without --force
    shutil.copy(tmp_path / "before" / "agent.py", tmp_path / "after" / "agent.py")
    again = ran(tmp_path, "pay-order", "--force")
    assert_shown(mended, again.output)
    assert (again.code, (tmp_path / "runs" / "pay-order.1").is_dir()) == (0, True)


def write_faulty(place: Path, params: str, change: tuple[str, str] = ("", "")) -> None:
    """The first experiment under the fault of the guide, with these params, and perhaps other source."""
    guide = page("docs/how-to/add-a-fault.md")
    (conditions,) = [block.text for block in blocks(guide, "yaml")]
    shown = files(page("docs/how-to/first-experiment.md"))
    head, _, rest = shown["arci.yaml"].partition("conditions:\n")
    rest = rest[rest.index("n_per_arm") :]
    descriptor = head + conditions.replace("percent: 10", params) + rest
    source = files(guide)["world/faults.py"]
    write(
        place, {**shown, "world/faults.py": source.replace(*change) if change[0] else source, "arci.yaml": descriptor}
    )


def test_the_fault_of_the_guide_changes_what_the_agent_gets(tmp_path: Path) -> None:
    write_faulty(tmp_path, "percent: 10")
    run = ran(tmp_path, "pay-order", "--n", "8")
    records = run.lines("trials.jsonl")
    assert {record["outcome"] for record in records} == {"FAIL"}
    for record in records:
        assert [i["fault"] for i in record["injections"]] == ["faults:half_price"]
        assert record["final_state"]["charges"] == [record["final_state"]["price"] // 10]


def test_a_fault_that_cannot_be_made_refuses_the_run(tmp_path: Path) -> None:
    write_faulty(tmp_path, "percent: 10", ("def half_price", "def third_price"))
    done = arci(tmp_path, "run", "--n", "8")
    assert done.returncode == 64
    assert "faults:half_price" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_hook_that_raises_is_an_error_of_the_environment(tmp_path: Path) -> None:
    write_faulty(tmp_path, "percent: 10", ("return Replace(", "return Replaced("))
    run = ran(tmp_path, "pay-order", "--n", "8")
    records = run.lines("trials.jsonl")
    assert run.code == 3
    assert {(record["outcome"], record["blame"]) for record in records} == {("ERROR", "environment")}


@pytest.mark.parametrize(
    ("state", "success"),
    [
        ({"charges": [20], "price": 20}, True),
        ({"charges": [2], "price": 20}, False),
        ({"charges": [20, 20], "price": 20}, False),
        ({"charges": [], "price": 20}, False),
    ],
)
def test_the_grader_in_shell_judges_as_the_oracle_does(state: dict[str, Any], success: bool, tmp_path: Path) -> None:
    write(tmp_path, files(page("docs/how-to/write-a-grader-in-another-language.md")))
    evidence = {"claim": {"paid": 20}, "files": {}}
    body = {"evidence": evidence, "final_state": state, "nonce": "0" * 32, "task": {"order_id": "order-1"}}
    text = json.dumps(body, sort_keys=True, separators=(",", ":")) + "\n"
    script = tmp_path / "world" / "grade.sh"
    done = subprocess.run(["sh", str(script)], input=text, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"success": success}


def test_the_input_of_a_grader_is_what_its_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/write-a-grader-in-another-language.md")
    ((_, rows),) = tables(text).items()
    shown = files(page("docs/how-to/first-experiment.md"))
    echo = 'sh, -c, \'tee input >&2; cp input "$0"; echo "{\\"success\\": true}"\', ' + str(tmp_path / "seen")
    descriptor = shown["arci.yaml"].replace("oracle: oracle:is_paid_once", f"grader: {{command: {{argv: [{echo}]}}}}")
    write(tmp_path, {**shown, "arci.yaml": descriptor})
    assert ran(tmp_path, "pay-order", "--n", "1").decision["conditions"]
    seen = (tmp_path / "seen").read_bytes()
    assert {f"`{key}`" for key in json.loads(seen)} == {row[0] for row in rows}
    assert seen == json.dumps(json.loads(seen), sort_keys=True, separators=(",", ":")).encode() + b"\n"
    assert "in canonical form: one line, sorted keys, no blanks" in prose(text)
