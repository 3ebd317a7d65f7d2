"""`arci doctor` without an engine: what it makes of an engine's answers, how it ends, what it prints."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from e2e import arci, call

from arci.doctor.conformance import QUICK, chosen_checks
from arci.doctor.engine_facts import EngineFacts, engine_lines
from arci.doctor.finding import Health, Line, Report
from arci.doctor.text import render_report
from arci.isolation.conformance.check import Result, Status
from arci.isolation.conformance.suite import CHECKS

VERSION = {
    "Components": [{"Name": "Engine", "Version": "20.10.24"}, {"Name": "containerd"}],
    "Version": "20.10.24",
    "ApiVersion": "1.41",
    "MinAPIVersion": "1.12",
    "Os": "linux",
    "Arch": "amd64",
    "KernelVersion": "6.1.0",
}
INFO = {
    "Driver": "overlay2",
    "CgroupDriver": "systemd",
    "CgroupVersion": "2",
    "NCPU": 2,
    "MemTotal": 8 << 30,
    "Runtimes": {"runc": {}, "runsc": {}},
    "DefaultRuntime": "runc",
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"],
}
"""What Docker answers, cut to what is read (docker version and docker info on Debian 12)."""
WELL, DOUBT, WRONG = (
    Line("one", Health.OK, "seen"),
    Line("two", Health.WARNING, "odd", "mend it"),
    Line("three", Health.PROBLEM, "broken", "replace it"),
)


def lines(version: dict[str, Any], info: dict[str, Any]) -> dict[str, Line]:
    facts = EngineFacts.of(version, info, agreed="1.41", client="7.1.0", client_newest="1.45")
    return {line.name: line for line in engine_lines(facts)}


def test_an_engine_is_told_with_its_versions_and_what_was_agreed() -> None:
    found = lines(VERSION, INFO)
    assert {line.health for line in found.values()} == {Health.OK}
    for text in ("Docker 20.10.24", "API 1.41 agreed", "engine 1.12 to 1.41", "docker 7.1.0 up to 1.45"):
        assert text in found["versions"].detail
    assert found["system"].detail == "linux/amd64, kernel 6.1.0, 2 CPUs, 8.0 GiB, overlay2"
    assert found["runtime"].detail == "runc (also runsc), rootful"
    assert found["cgroup"].detail == "v2, driver systemd"
    assert found["security"].detail == "apparmor, seccomp"


@pytest.mark.parametrize(
    ("change", "name", "text"),
    [
        ({"SecurityOptions": []}, "security", "no seccomp"),
        ({"SecurityOptions": None}, "security", "no seccomp"),
        ({"SecurityOptions": ["name=seccomp", "name=rootless"], "CgroupVersion": "1"}, "cgroup", "cannot limit"),
        ({"CgroupDriver": "none"}, "cgroup", "limits nothing"),
    ],
)
def test_what_weakens_a_run_is_a_warning_with_a_remedy(change: dict[str, Any], name: str, text: str) -> None:
    line = lines(VERSION, {**INFO, **change})[name]
    assert line.health is Health.WARNING
    assert text in line.detail
    assert line.remedy


def test_podman_and_rootless_are_recognised() -> None:
    podman = {**VERSION, "Components": [{"Name": "Podman Engine", "Version": "4.3.1"}], "Version": "4.3.1"}
    found = lines(podman, {**INFO, "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]})
    assert "Podman 4.3.1" in found["versions"].detail
    assert found["runtime"].detail.endswith("rootless")


def test_an_engine_that_says_nothing_of_itself_breaks_nothing() -> None:
    assert lines({}, {})["security"].health is Health.WARNING


@pytest.mark.parametrize(
    ("report", "exit_code"),
    [
        (Report("docker", (WELL,)), 0),
        (Report("docker", (WELL, DOUBT)), 0),
        (Report("docker", (WELL, DOUBT, WRONG)), 3),
        (Report("docker", (WRONG,), has_no_engine=True), 69),
        (Report("docker", (WELL,), (Result("a", "b", Status.PASSED), Result("c", "d", Status.GAP, "why"))), 0),
        (Report("docker", (WELL,), (Result("a", "b", Status.FAILED, "seen"),)), 3),
    ],
)
def test_it_ends_with_0_for_warnings_at_most(report: Report, exit_code: int) -> None:
    assert (report.exit_code, report.to_document()["exit_code"]) == (exit_code, exit_code)


def test_the_text_has_every_finding_with_its_remedy_and_what_of_the_checks_ran() -> None:
    failed = Result("no_way_out", "nothing gets out", Status.FAILED, "it reached 192.0.2.1")
    missing = [Result(name, "x", Status.NOT_APPLICABLE, "lacks IMAGES") for name in ("first", "second")]
    text = render_report(Report("docker", (WELL, DOUBT, WRONG), (failed, *missing), of_checks=40))
    for expected in ("ok       one", "warning  two", "-> mend it", "problem  three", "3 of 40 checks", "37 more"):
        assert expected in text
    assert "failed  no_way_out: nothing gets out" in text
    assert "it reached 192.0.2.1" in text
    assert "not applicable to docker: first, second" in text
    assert text.splitlines()[-1] == "2 problems (exit 3)."
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(("found", "last"), [((WELL,), "All well."), ((WELL, DOUBT), "All well, 1 warning.")])
def test_the_last_line_says_whether_all_is_well(found: tuple[Line, ...], last: str) -> None:
    assert render_report(Report("process", found)).splitlines()[-1] == last


def test_the_few_checks_are_among_all_in_the_same_order() -> None:
    few = [check.name for check in chosen_checks(everything=False)]
    assert set(few) == set(QUICK)
    everything = [check.name for check in chosen_checks(everything=True)]
    assert everything == [check.name for check in CHECKS]
    assert [name for name in everything if name in few] == few


def test_processes_are_examined_without_an_engine(capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "doctor", "--isolation", "process", "--json")
    assert ended.exit_code == ended.json["exit_code"] == 0, ended.stdout
    assert {finding["name"] for finding in ended.json["findings"]} == {"arci", "arci-init", "isolation", "disk"}
    results = {result["name"]: result["status"] for result in ended.json["conformance"]["results"]}
    assert set(results) == set(QUICK)
    assert (results["streams_apart"], results["only_loopback"]) == ("passed", "not applicable")


def test_no_engine_ends_with_69_and_names_what_was_tried_and_why(tmp_path: object) -> None:
    nowhere = f"unix://{tmp_path}/nobody.sock"
    people, machine = (arci("doctor", *option, env={"DOCKER_HOST": nowhere}) for option in ((), ("--json",)))
    assert (people.exit_code, machine.exit_code) == (69, 69)
    (finding,) = [f for f in machine.json["findings"] if f["name"] == "engine"]
    assert finding["health"] == "problem"
    assert finding["remedy"]
    for text in (nowhere, "DOCKER_HOST is set"):
        assert text in finding["detail"]
    words = itertools.chain.from_iterable(line.split() for line in people.stdout.splitlines())
    assert "69);" in words
