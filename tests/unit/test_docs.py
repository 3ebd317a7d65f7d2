"""Every page: links lead somewhere, shown commands parse, shown descriptors load."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
import yaml
from click.exceptions import NoArgsIsHelpError
from docs_pages import (
    PAGES,
    ROOT,
    Block,
    anchors,
    blocks,
    files,
    links,
    mentioned_commands,
    mentioned_paths,
    page,
    shown_commands,
    write,
)

from arci.cli import arci
from arci.manifest.descriptor import load_descriptor

FOLDERS = ("after", "agent", "before", "grader", "world", "../agent", "../../head/agent")
"""Whatever a shown descriptor builds from."""
BASE = {
    "experiment_id": "experiment_id: shown\n",
    "toolset": "toolset: world:make\n",
    "oracle": "oracle: oracle:judge\n",
    "isolation": "isolation: docker\n",
    "baseline": "baseline: agent:run\n",
    "candidate": "candidate: agent:run\n",
}
"""What a shown part of a descriptor is completed with."""

LATER = {
    *("bundle", "demo", "diff", "doctor", "eval", "init", "merge", "minimize", "plan", "preflight", "replay", "rerun"),
    *("sign", "tools", "trace-check", "triage", "try", "verify"),
}

every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
yaml_blocks = [
    pytest.param(path, block, id=f"{path.relative_to(ROOT)}-{number}")
    for path in PAGES
    for number, block in enumerate(blocks(path.read_text(encoding="utf-8"), "yaml"))
]


def parse(words: list[str], place: Path) -> None:
    """click's own parser over the arguments of `arci`; a usage error if it would be one."""
    command: click.Command = arci
    context = click.Context(arci, info_name="arci", **arci.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            raise click.UsageError(f"{words[0]} is no command")
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    bundle = place / "bundle.pem"
    bundle.touch()
    given = [str(bundle) if before == "--build-ca" else word for before, word in zip(["", *words], words, strict=False)]
    command.make_context(command.name, given, parent=context.parent)


def completed(block: Block) -> str:
    """A whole descriptor, made of the block and what it leaves out."""
    shown = yaml.safe_load(block.text)
    if "experiment_id" in shown:
        return block.text
    left_out = dict(BASE)
    if "command" in shown.get("grader", {}):
        del left_out["oracle"]
    return "".join(text for key, text in left_out.items() if key not in shown) + block.text


@every_page
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in links(path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        if name.startswith("https:"):
            continue
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


@every_page
def test_every_path_of_this_repository_is_there(path: Path) -> None:
    missing = [name for name in mentioned_paths(path.read_text(encoding="utf-8")) if not (ROOT / name).exists()]
    assert not missing


@every_page
def test_every_shown_command_parses(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for words in shown_commands(text):
        parse(words, tmp_path)
    for words in mentioned_commands(text):
        try:
            parse(words, tmp_path)
        except (click.MissingParameter, NoArgsIsHelpError):
            continue


def test_a_command_that_is_not_there_does_not_parse(tmp_path: Path) -> None:
    for words in (["dr"], ["run", "--nn", "3"], ["gate"]):
        with pytest.raises(click.UsageError):
            parse(words, tmp_path)


@pytest.mark.parametrize(("path", "block"), yaml_blocks)
def test_every_shown_descriptor_loads(path: Path, block: Block, tmp_path: Path) -> None:
    if "jobs" in yaml.safe_load(block.text):
        return  # a workflow: its commands are parsed with the others
    place = tmp_path / "base" / "reliability"
    write(place, files(path.read_text(encoding="utf-8")))
    for folder in FOLDERS:
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "arci.yaml").write_text(completed(block), encoding="utf-8")
    descriptor = load_descriptor(place / "arci.yaml")
    assert descriptor.shape.baseline


def test_shown_workflows_use_what_the_workflow_makes() -> None:
    for name in ("README.md", "docs/how-to/run-in-ci.md"):
        (workflow,) = [b for b in blocks(page(name), "yaml") if "jobs" in yaml.safe_load(b.text)]
        steps = yaml.safe_load(workflow.text)["jobs"]["reliability"]["steps"]
        ran = [step["run"].split() for step in steps if step.get("run", "").startswith("arci ")]
        assert [words[1] for words in ran] == ["run", "gate"]
        assert ran[1][2].startswith("runs/")  # the default of --out


def test_the_pages_say_nothing_of_commands_that_come_later() -> None:
    later = LATER - set(arci.list_commands(click.Context(arci)))
    for path in PAGES:
        named = re.findall(r"\barci ([a-z-]+)", path.read_text(encoding="utf-8"))
        assert not later & set(named), path


def test_every_page_below_docs_is_in_the_index() -> None:
    index = {(ROOT / "docs" / link).resolve() for link in links(page("docs/README.md"))}
    below = {path for path in PAGES if path.is_relative_to(ROOT / "docs")} - {ROOT / "docs" / "README.md"}
    assert below <= index
