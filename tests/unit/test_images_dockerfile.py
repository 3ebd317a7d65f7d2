"""The Dockerfile that ARCI writes, and what goes into a build context."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from arci.isolation.docker.build import judge_build
from arci.isolation.docker.images_build import plan_build
from arci.isolation.docker.images_context import context_sha256, context_tar
from arci.isolation.docker.images_dockerfile import CA_NAME, project_dockerfile
from arci.manifest.context import context_files
from arci.manifest.images import ImageRequest


def stages(text: str) -> list[list[str]]:
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("FROM "):
            found.append([])
        found[-1].append(line)
    return found


def test_a_project_without_dependencies_is_one_stage_as_nobody() -> None:
    (only,) = stages(project_dockerfile("base:1", requirements=None, pyproject=None))
    assert only[0] == "FROM base:1"
    assert only[-1] == "USER 65534:65534"
    assert "COPY app /app" in only


def test_a_pyproject_that_only_configures_tools_installs_nothing() -> None:
    assert len(stages(project_dockerfile("b", requirements=None, pyproject="[tool.ruff]\n"))) == 1


@pytest.mark.parametrize("pyproject", ["[project]\nname='x'\n", "[build-system]\n", "not toml ["])
def test_a_project_is_installed_in_a_stage_of_its_own(pyproject: str) -> None:
    first, last = stages(project_dockerfile("b", requirements=None, pyproject=pyproject))
    assert any("pip install" in line for line in first)
    assert not any("pip" in line for line in last)
    assert 'ENV PATH="/opt/venv/bin:${PATH}"' in last


def test_a_ca_bundle_reaches_the_first_stage_alone() -> None:
    text = project_dockerfile("b", requirements="six\n", pyproject=None, has_ca=True)
    first, last = stages(text)
    assert any(CA_NAME in line for line in first)
    assert CA_NAME not in "\n".join(last)
    assert CA_NAME not in project_dockerfile("b", requirements="six\n", pyproject=None)


@pytest.mark.parametrize(
    ("requirements", "copied"),
    [
        ("six\nattrs==24.1\n", "COPY app/requirements.txt ./"),
        ("-r more.txt\n", "COPY app ./"),
        ("./vendored\n", "COPY app ./"),
        ("mine @ file:///app/mine\n", "COPY app ./"),
    ],
)
def test_requirements_that_name_files_of_the_project_see_the_project(requirements: str, copied: str) -> None:
    assert copied in stages(project_dockerfile("b", requirements=requirements, pyproject=None))[0]


def test_build_arguments_are_seen_by_the_installation() -> None:
    text = project_dockerfile("b", requirements="six", pyproject=None, args=("PIP_INDEX_URL",))
    assert "ARG PIP_INDEX_URL" in stages(text)[0]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "b.py").write_text("b = 1\n")
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "tool.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tool.sh").chmod(0o700)
    (tmp_path / "link").symlink_to("a.py")
    return tmp_path


def digest_of(directory: Path) -> str:
    with context_tar(context_files(directory), {"Dockerfile": b"FROM x\n"}) as tar:
        return context_sha256(tar)


def test_times_and_umask_do_not_change_a_context(project: Path) -> None:
    before = digest_of(project)
    (project / "a.py").write_text("a = 1\n")
    (project / "a.py").chmod(0o640)
    assert digest_of(project) == before


@pytest.mark.parametrize("change", ["content", "execute", "name", "link"])
def test_contents_names_execute_bits_and_links_do(project: Path, change: str) -> None:
    before = digest_of(project)
    if change == "content":
        (project / "a.py").write_text("a = 2\n")
    elif change == "execute":
        (project / "a.py").chmod(0o755)
    elif change == "name":
        (project / "a.py").rename(project / "c.py")
    else:
        (project / "link").unlink()
        (project / "link").symlink_to("pkg/b.py")
    assert digest_of(project) != before


def test_members_are_roots_sorted_and_without_times(project: Path) -> None:
    with context_tar(context_files(project), {"Dockerfile": b"FROM x\n"}) as out, tarfile.open(fileobj=out) as tar:
        members = tar.getmembers()
    assert [m.name for m in members] == ["a.py", "link", "pkg/b.py", "tool.sh", "Dockerfile"]
    assert {(m.mtime, m.uid, m.gid, m.uname) for m in members} == {(0, 0, 0, "")}
    assert {m.name: oct(m.mode) for m in members if m.isfile()} == {
        "a.py": "0o644",
        "pkg/b.py": "0o644",
        "tool.sh": "0o755",
        "Dockerfile": "0o644",
    }


def test_a_users_dockerfile_is_told_of_base_and_ca_only_where_it_asks(project: Path) -> None:
    request = ImageRequest("build", context=project)
    (project / "Dockerfile").write_text("FROM python:3.12\nCOPY . .\n")
    plain = plan_build(request, has_ca=True)
    assert (plain.args, plain.ca_name, plain.needs_base) == ({}, None, False)
    (project / "Dockerfile").write_text("ARG ARCI_BASE\nARG ARCI_CA_BUNDLE\nFROM ${ARCI_BASE}\n")
    asking = plan_build(request, has_ca=True)
    assert asking.needs_base
    assert asking.args["ARCI_BASE"].startswith("arci/base:")
    assert asking.args["ARCI_CA_BUNDLE"] == asking.ca_name


def test_a_build_is_judged_by_its_end() -> None:
    step = {"stream": "Step 2/3 : RUN false\n"}
    assert judge_build([step, {"aux": {"ID": "sha256:1"}}]) == ("sha256:1", None)
    assert judge_build([step, {"error": "no space left on device"}]) == (
        None,
        "failed at Step 2/3 : RUN false: no space left on device",
    )
    # A stream that just stops, as when the engine dies, is no success.
    assert judge_build([step])[0] is None
    assert judge_build([{"aux": {"ID": "sha256:1"}}, step, {"error": "late"}])[0] is None
