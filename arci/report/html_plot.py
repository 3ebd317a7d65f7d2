"""Bounds drawn as SVG: of the difference against -delta, and of the rates of both arms. Pure.

Places are percentages of the width, so that lines follow the page's width and letters keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arci.gate.decision import ArmResult, ConditionDecision, Decision
from arci.report.html_text import said
from arci.report.words import bounds

__all__ = ["Scale", "difference_figure", "difference_scale", "rates_figure"]

_MARGIN = 6.0
"""Per cent of the width that is left free on either side, so that the labels of the ends fit."""
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` on the width of a drawing."""

    low: float
    high: float
    step: float
    """Distance of the ticks."""

    def at(self, value: float) -> float:
        """Where a value stands, in per cent of the width; beyond the ends: at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _MARGIN + share * (100 - 2 * _MARGIN)

    def ticks(self) -> list[float]:
        """From `low` to `high`, both included."""
        count = round((self.high - self.low) / self.step)
        return [round(self.low + number * self.step, 10) for number in range(count + 1)]


_RATES = Scale(0.0, 1.0, 0.25)


def difference_scale(decision: Decision) -> Scale:
    """One that holds 0, -delta and every bound."""
    values = [0.0, -(decision.delta or 0.0)]
    for condition in decision.conditions:
        values += [v for v in (condition.delta_low, condition.delta_high) if v is not None]
    low, high = min(values), max(values)
    step = next((s for s in _STEPS if (high - low) / s <= _MOST_TICKS - 2), _STEPS[-1])
    return Scale(math.floor(low / step + 1e-9) * step, (math.floor(high / step + 1e-9) + 1) * step, step)


def difference_figure(
    decision: Decision, conditions: tuple[ConditionDecision, ...], caption: str, anchors: Mapping[str, str]
) -> str:
    """A row for each condition: its bounds on candidate minus baseline, against -delta and 0. `anchors`: condition ->
    the id of the element that its name leads to, where there is one."""
    scale = difference_scale(decision)
    rows = "".join(_difference_row(decision, c, scale, anchors.get(c.condition_id)) for c in conditions)
    return f"<figure>{rows}{_axis(scale)}<figcaption>{caption}</figcaption></figure>\n"


def rates_figure(condition: ConditionDecision) -> str:
    """A row for each arm: its rate with the bounds that decide, and the Wilson interval that does not."""
    rows = "".join(_rate_row(arm, result) for arm, result in condition.arms.items())
    caption = (
        "Rate of success: thick, the bounds that decide; thin below, Wilson 95 %, shown only; the dot, passed / n."
    )
    return f"<figure>{rows}{_axis(_RATES)}<figcaption>{caption}</figcaption></figure>\n"


def _difference_row(decision: Decision, condition: ConditionDecision, scale: Scale, anchor: str | None) -> str:
    told = bounds(condition.delta_low, condition.delta_high)
    verdict = condition.verdict.value if condition.verdict is not None else "does not gate"
    margin = "" if decision.delta is None else f" against {-decision.delta:g}"
    name = said(condition.condition_id, 80)
    title = f"{name}: candidate minus baseline within {told}{margin}: {verdict}"
    drawn = "".join(_difference_marks(decision, condition, scale))
    kind = "forest" if condition.is_gating else "forest ungated"
    mark = f'<strong class="{verdict}">{verdict}</strong>' if condition.verdict is not None else verdict
    head = name if anchor is None else f'<a href="#{anchor}">{name}</a>'
    return f'<div class="plot-row">{head}: {told} {mark}</div>{_svg(kind, title, 44, drawn)}'


def _difference_marks(decision: Decision, condition: ConditionDecision, scale: Scale) -> Iterator[str]:
    if decision.delta is not None:
        at = scale.at(-decision.delta)
        yield f'<rect class="zone" x="0" y="0" width="{at:.3f}%" height="100%"/>'
    yield _line("zero", scale.at(0.0), 14, 44)
    if condition.delta_low is not None and condition.delta_high is not None:
        yield from _interval(scale, condition.delta_low, condition.delta_high, 29)
    baseline, candidate = condition.baseline.rate, condition.candidate.rate
    if baseline is not None and candidate is not None:
        yield _point(scale.at(candidate - baseline), 29)
    if decision.delta is not None:
        yield _line("margin", at, 14, 44)
        yield f'<text x="{at:.3f}%" y="11" text-anchor="middle">\u2212delta</text>'


def _rate_row(arm: str, result: ArmResult) -> str:
    told = f"{result.successes}/{result.n}, bounds {bounds(result.low, result.high)}"
    wilson = bounds(result.wilson_low, result.wilson_high)
    marks = ""
    if result.low is not None and result.high is not None:
        marks += "".join(_interval(_RATES, result.low, result.high, 10))
    if result.wilson_low is not None and result.wilson_high is not None:
        x1, x2 = _RATES.at(result.wilson_low), _RATES.at(result.wilson_high)
        marks += f'<line class="wilson" x1="{x1:.3f}%" x2="{x2:.3f}%" y1="21" y2="21"/>'
    if result.rate is not None:
        marks += _point(_RATES.at(result.rate), 10)
    title = f"{arm}: passed {told}, Wilson 95 % {wilson}"
    return f'<div class="plot-row">{arm}: {told}</div>{_svg(f"rates {arm}", title, 26, marks)}'


def _interval(scale: Scale, low: float, high: float, y: int) -> Iterator[str]:
    x1, x2 = scale.at(low), scale.at(high)
    yield f'<line class="interval" x1="{x1:.3f}%" x2="{x2:.3f}%" y1="{y}" y2="{y}"/>'
    yield _line("cap low", x1, y - 8, y + 8)
    yield _line("cap high", x2, y - 8, y + 8)


def _axis(scale: Scale) -> str:
    ticks = scale.ticks()
    marks = _line("axis", 0, 1, 1, 100)
    for value in ticks:
        at = scale.at(value)
        marks += _line("axis", at, 1, 6)
        marks += f'<text x="{at:.3f}%" y="19" text-anchor="middle">{_figure(value)}</text>'
    return f'<svg class="scale" height="24" aria-hidden="true">{marks}</svg>'


def _figure(value: float) -> str:
    return f"{value:g}".replace("-", "\u2212")


def _line(kind: str, at: float, y1: int, y2: int, to: float | None = None) -> str:
    return f'<line class="{kind}" x1="{at:.3f}%" x2="{at if to is None else to:.3f}%" y1="{y1}" y2="{y2}"/>'


def _point(at: float, y: int) -> str:
    return f'<circle class="point" cx="{at:.3f}%" cy="{y}" r="4.5"/>'


def _svg(kind: str, title: str, height: int, content: str) -> str:
    return f'<svg class="{kind}" role="img" aria-label="{title}" height="{height}">{content}</svg>'
