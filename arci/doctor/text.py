"""The doctor's report for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from arci.doctor.finding import Health, Line, Report
from arci.isolation.conformance.check import Status
from arci.report.escape import fold

__all__ = ["render_report"]

_WIDTH = 100


def render_report(report: Report) -> str:
    """Text of at most 100 columns, ended by a newline."""
    return "\n".join(line.rstrip() for line in _lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    for line in report.lines:
        yield from _line(line)
    if report.results:
        yield ""
        yield from _checks(report)
    yield ""
    yield _summary(report)


def _checks(report: Report) -> Iterator[str]:
    left_out = report.of_checks - len(report.results)
    more = f"; {left_out} more with --conformance" if left_out > 0 else ""
    yield f"conformance of {report.backend}: {len(report.results)} of {report.of_checks} checks{more}"
    told = [result for result in report.results if result.status is not Status.NOT_APPLICABLE]
    width = max((len(result.status) for result in told), default=0)
    for result in told:
        yield from fold(f"{result.status:<{width}}  {result.name}: {result.shows}", "  ", " " * (width + 4), _WIDTH)
        if result.detail:
            yield from fold(result.detail, " " * (width + 6), " " * (width + 6), _WIDTH)
    others = [result.name for result in report.results if result.status is Status.NOT_APPLICABLE]
    if others:
        yield from fold(f"not applicable to {report.backend}: {', '.join(others)}", "  ", "    ", _WIDTH)


def _line(line: Line) -> Iterator[str]:
    yield from fold(line.detail, f"{line.health:<8} {line.name:<11} ", " " * 21, _WIDTH)
    if line.remedy:
        yield from fold(line.remedy, f"{'':21}-> ", f"{'':24}", _WIDTH)


def _summary(report: Report) -> str:
    problems = sum(line.health is Health.PROBLEM for line in report.lines)
    problems += sum(not result.is_good for result in report.results)
    warnings = sum(line.health is Health.WARNING for line in report.lines)
    if report.has_no_engine:
        return "No container engine answers (exit 69); `--isolation process` needs none."
    if problems:
        return f"{problems} problem{'s' * (problems > 1)} (exit {report.exit_code})."
    return f"All well, {warnings} warning{'s' * (warnings != 1)}." if warnings else "All well."
