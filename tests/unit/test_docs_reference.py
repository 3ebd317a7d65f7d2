"""The reference pages against what they describe: schema, command line, faults, exit codes, endings, engines."""

from __future__ import annotations

import importlib.util
import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from docs_pages import ROOT, blocks, page, tables

from arci.errors import EXIT_ERROR, EXIT_NO_ENGINE, EXIT_USAGE
from arci.faults import noop
from arci.faults.registry import BUILTIN
from arci.isolation.docker.endpoint import find_endpoints
from arci.isolation.docker.findings import NEEDED_FREE_BYTES
from arci.manifest.descriptor import json_schema
from arci.manifest.rules import MIN_TAIL
from arci.manifest.rules_places import _CAPS
from arci.model.trial import Ending, Outcome, Verdict
from arci.run.evidence import MOST_FILE_BYTES, MOST_FILES, MOST_TOTAL_BYTES
from arci.run.masking import SHORTEST_SECRET
from arci.run.outfit import TASK_ENV_BYTES

SHAPES = {
    "An arm": "ArmShape",
    "An agent's command": "CommandShape",
    "A server": "ServerShape",
    "A snapshot": "SnapshotShape",
    "A task": "TaskShape",
    "The contract": "ContractShape",
    "The grader": "GraderShape",
    "The grader's command": "GraderCommandShape",
    "A condition": "ConditionShape",
    "A fault": "FaultShape",
    "From a call on": "FromShape",
    "Budgets": "BudgetsShape",
    "A model": "ModelShape",
    "An upstream's variables": "UpstreamEnvShape",
    "A price": "PriceShape",
    "Decisions": "DecisionsShape",
    "Isolation": "IsolationShape",
    "Images": "ImagesShape",
    "An image": "ImageShape",
    "A build": "BuildShape",
}
"""Heading of the descriptor's page -> the part of the schema."""
GIVEN = "What an agent is given"
"""The page's one table that is no part of the schema."""


def generator() -> ModuleType:
    path = ROOT / "scripts" / "generate_docs.py"
    spec = importlib.util.spec_from_file_location("generate_docs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told_default(shape: dict[str, Any], key: str) -> str:
    """As the page writes it: `below` for a part with a table of its own."""
    if key in shape.get("required", ()):
        return "required"
    default = shape["properties"][key]["default"]
    if isinstance(default, dict) and default:
        return "below"
    if isinstance(default, list) and all(isinstance(item, dict) for item in default):
        default = [{k: v for k, v in item.items() if v not in (None, [], {})} for item in default]
    return json.dumps(default)


def rows_of(shape: dict[str, Any]) -> dict[str, str]:
    return {f"`{key}`": told_default(shape, key) for key in shape["properties"]}


def test_the_descriptors_page_names_every_key_with_its_default_and_no_other() -> None:
    schema, shown = json_schema(), tables(page("docs/reference/descriptor.md"))
    assert set(SHAPES.values()) == set(schema["$defs"])
    assert set(shown) == {*SHAPES, "Top level", GIVEN}
    del shown[GIVEN]
    for heading, rows in shown.items():
        shape = schema["$defs"][SHAPES[heading]] if heading in SHAPES else schema
        assert {row[0]: row[1] for row in rows} == rows_of(shape), heading
        assert all(len(row) == 3 and row[2] for row in rows), heading


def test_the_descriptors_page_tells_the_real_limits() -> None:
    text = page("docs/reference/descriptor.md")
    mib = 1 << 20
    for told in (
        f"at most {MOST_FILES} files, {MOST_FILE_BYTES // mib} MiB each, {MOST_TOTAL_BYTES // mib} MiB together",
        f"values of {SHORTEST_SECRET} characters and more",
        f"at least {4 * MIN_TAIL:g} per gating condition",
        f"the task as JSON, up to {TASK_ENV_BYTES >> 10} KiB",
        ", ".join(sorted(_CAPS)),
    ):
        assert told in text


@pytest.mark.parametrize("name", ["cli.md", "faults.md"])
def test_the_generated_page_is_what_the_program_says(name: str) -> None:
    pages = {path.name: make for path, make in generator().PAGES.items()}
    shown, made = page(f"docs/reference/{name}"), pages[name]()
    # click may lay out its columns otherwise in another version.
    assert shown.split() == made.split(), "run: python scripts/generate_docs.py"


def test_the_faults_page_names_every_built_in_fault() -> None:
    rows = [row for table in tables(page("docs/reference/faults.md")).values() for row in table]
    assert [row[0] for row in rows] == [f"`{name}`" for name in BUILTIN]
    for row in rows:
        assert all(f"`{setting}`" in row[2] for setting in BUILTIN[row[0].strip("`")].defaults)


def test_the_fault_that_the_guide_starts_from_is_the_real_one() -> None:
    shown = [b.text for b in blocks(page("docs/how-to/add-a-fault.md"), "python") if b.name is None]
    source = inspect.getsource(noop)
    assert shown
    assert all(text in source for text in shown)


def test_the_exit_codes_of_the_readme_are_the_programs() -> None:
    rows = tables(page("README.md"))["Verdicts and exit codes"]
    assert {row[0]: int(row[1]) for row in rows if row[0]} == {v.value: v.exit_code for v in Verdict}
    assert [row[1] for row in rows if not row[0]] == [str(EXIT_USAGE), str(EXIT_NO_ENGINE), "130, 143"]
    assert Verdict.ERROR.exit_code == EXIT_ERROR


def test_the_page_on_trials_tells_every_way_in_which_one_ends() -> None:
    rows = tables(page("docs/explanation/how-a-trial-runs.md"))["Who is blamed"]
    told = {name.strip(" `") for row in rows for name in row[2].split(",")}
    assert told == set(Ending) - {Ending.REPLAY_MISS, Ending.INTERRUPTED}
    assert {row[1] for row in rows} == set(Outcome)


def test_the_verdicts_have_a_row_each() -> None:
    rows = tables(page("docs/explanation/verdicts.md"))["What the verdicts mean"]
    assert [row[0] for row in rows] == [verdict.value for verdict in Verdict]


def test_engines_are_looked_for_where_the_page_says(tmp_path: Path) -> None:
    text = page("docs/reference/engines.md")
    listed = [line.strip(" -`") for line in text.splitlines() if line.startswith("   - `")]
    assert f"less than {NEEDED_FREE_BYTES >> 20} MiB free" in text
    home, runtime = tmp_path / "home", tmp_path / "run"
    places = [Path(p.replace("~", str(home)).replace("$XDG_RUNTIME_DIR", str(runtime))) for p in listed]
    ours = [place for place in places if place.is_relative_to(tmp_path)]
    assert len(ours) == 3
    for place in ours:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    found = [e.url.removeprefix("unix://") for e in find_endpoints({"XDG_RUNTIME_DIR": str(runtime)}, home)]
    assert found == [str(place) for place in places if place.exists()]
    assert len(places) == 5
