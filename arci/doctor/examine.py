"""All of `arci doctor`: the machine, the place, the conformance checks; a report, whatever it finds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from arci.doctor.conformance import Place, chosen_checks, conform, process_gaps
from arci.doctor.finding import Health, Line, Report
from arci.doctor.places import machine_lines, process_lines
from arci.errors import EngineError, EngineUnavailable
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.conformance.suite import CHECKS

__all__ = ["examine"]

Notice = Callable[[str], None]


async def examine(backend: str, workers: int, notice: Notice, *, everything: bool = False) -> Report:
    """`backend`: `docker` or `process`. `everything`: all conformance checks. Raises nothing but cancellation."""
    report = Report(backend, tuple(machine_lines()), of_checks=len(CHECKS))
    if backend == "process":
        return await _examine_processes(report, notice, everything)
    return await _examine_engine(report, workers, notice, everything)


async def _examine_processes(report: Report, notice: Notice, everything: bool) -> Report:
    from arci.isolation.process.isolation import ProcessIsolation

    report = replace(report, lines=(*report.lines, *process_lines()))
    owner = "arci.isolation.process.isolation:ProcessIsolation"
    place = Place(ProcessIsolation(), conformance_plan("process"), owner, sys.executable, process_gaps())
    return await _conforming(report, place, notice, everything)


async def _examine_engine(report: Report, workers: int, notice: Notice, everything: bool) -> Report:
    from arci.doctor.docker import IMAGE_KEYS, examine_engine
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.isolation import DockerIsolation

    try:
        engine = await connect()
    except EngineUnavailable as error:
        line = Line("engine", Health.PROBLEM, error.message, error.hint or "")
        return replace(report, lines=(*report.lines, line), has_no_engine=True)
    try:
        found = await examine_engine(engine, workers, notice)
        report = replace(report, lines=(*report.lines, *found.lines), facts=found.facts)
        if found.image is None:
            return report
        run = conformance_plan("docker", image_refs=dict.fromkeys(IMAGE_KEYS, found.image))
        owner = "arci.isolation.docker.isolation:DockerIsolation"
        return await _conforming(report, Place(DockerIsolation(engine), run, owner), notice, everything)
    finally:
        engine.close()


async def _conforming(report: Report, place: Place, notice: Notice, everything: bool) -> Report:
    try:
        results = await conform(place, chosen_checks(everything=everything), notice)
    except EngineError as error:
        line = Line("conformance", Health.PROBLEM, f"cannot be checked: {error.message}", error.hint or "")
        return replace(report, lines=(*report.lines, line))
    return replace(report, results=tuple(results))
