"""The HTML report in a real browser: what a person sees of it, on a desk, on a phone, on paper, and what it keeps to
itself.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator
from watching import DESK, PHONE, Watched

pytestmark = pytest.mark.timeout(600)

EVERY_WIDTH = pytest.mark.parametrize("width", [PHONE, 768, DESK])
CONTRAST = """() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || node.closest("script, svg")) continue;
    const pair = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) faint.push([texts.currentNode.data.slice(0, 40), ratio]);
  }
  return faint;
}"""
"""Texts whose contrast with what is behind them is below 4.5, as WCAG 2 computes it."""


@pytest.fixture
def opened(watched: Watched, report: Path) -> Watched:
    watched.page.goto(report.as_uri())
    return watched


@pytest.fixture
def hostile(watched: Watched, hostile_report: Path) -> Watched:
    watched.page.goto(hostile_report.as_uri())
    return watched


@pytest.fixture
def long(watched: Watched, long_report: Path) -> Watched:
    watched.page.goto(long_report.as_uri())
    return watched


@pytest.fixture(scope="session")
def decision(run: Path) -> dict[str, Any]:
    decision: dict[str, Any] = json.loads((run / "decision.json").read_bytes())
    return decision


def box(locator: Locator) -> dict[str, float]:
    found = locator.bounding_box()
    assert found is not None
    x, y, width, height = found["x"], found["y"], found["width"], found["height"]
    return {"x": x, "y": y, "width": width, "height": height, "centre": x + width / 2, "right": x + width}


def resize(watched: Watched, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 800})


@EVERY_WIDTH
def test_the_page_shows_its_verdict_and_does_nothing_else(
    opened: Watched, decision: dict[str, Any], width: int
) -> None:
    resize(opened, width)
    heading = opened.page.get_by_role("heading", level=1)
    assert heading.is_visible()
    assert heading.inner_text().split() == [decision["verdict"], "retry-a-vs-b"]
    assert opened.misdeeds == []


@EVERY_WIDTH
def test_nothing_is_wider_than_the_screen(opened: Watched, width: int) -> None:
    resize(opened, width)
    assert opened.width() == width
    beyond = opened.page.evaluate(
        "Array.from(document.querySelectorAll('body *')).filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []


@EVERY_WIDTH
def test_the_marks_of_the_bounds_stand_where_the_numbers_say(
    opened: Watched, decision: dict[str, Any], width: int
) -> None:
    resize(opened, width)
    figure = opened.page.locator("header figure")
    (condition,) = decision["conditions"]
    drawn = box(figure.locator("svg.forest"))
    labels = figure.locator("svg.scale text")
    ticks = {
        float(label.text_content().replace("\u2212", "-")): box(label)["centre"]  # type: ignore[union-attr]  # a text has one
        for label in labels.all()
    }
    first, last = min(ticks), max(ticks)
    unit = (ticks[last] - ticks[first]) / (last - first)

    def expected(value: float) -> float:
        return ticks[first] + (value - first) * unit

    marks = {".low": "delta_low", ".high": "delta_high"}
    for kind, key in marks.items():
        assert box(figure.locator(f"svg.forest {kind}"))["centre"] == pytest.approx(expected(condition[key]), abs=1.5)
    margin, zero = box(figure.locator(".margin")), box(figure.locator(".zero"))
    assert margin["centre"] == pytest.approx(expected(-decision["delta"]), abs=1.5)
    assert zero["centre"] == pytest.approx(expected(0), abs=1.5)
    rates = condition["candidate"]["rate"] - condition["baseline"]["rate"]
    assert box(figure.locator(".point"))["centre"] == pytest.approx(expected(rates), abs=1.5)
    zone = box(figure.locator(".zone"))
    assert [zone["x"], zone["right"]] == pytest.approx([drawn["x"], margin["centre"]], abs=1.5)


def test_labels_of_the_scale_do_not_overlap_on_a_phone(opened: Watched) -> None:
    resize(opened, PHONE)
    for scale in opened.page.locator("svg.scale").all():
        boxes = sorted((box(label) for label in scale.locator("text").all()), key=lambda b: b["x"])
        assert len(boxes) >= 2
        assert all(one["right"] <= other["x"] for one, other in pairwise(boxes))


def test_the_rates_of_both_arms_are_drawn_above_one_scale(opened: Watched, decision: dict[str, Any]) -> None:
    (condition,) = decision["conditions"]
    zero, one = (box(opened.page.locator("svg.rates").locator("..").locator("svg.scale text").nth(n)) for n in (0, 4))
    for arm in ("baseline", "candidate"):
        point = box(opened.page.locator(f"svg.rates.{arm} .point"))
        expected = zero["centre"] + condition[arm]["rate"] * (one["centre"] - zero["centre"])
        assert point["centre"] == pytest.approx(expected, abs=1.5)


def test_the_step_at_which_traces_part_is_marked_in_both_columns_side_by_side(opened: Watched) -> None:
    (parting,) = opened.page.locator("tr.parting").all()
    baseline, candidate = parting.locator("td.side").all()
    assert [cell.get_attribute("data-arm") for cell in (baseline, candidate)] == ["baseline", "candidate"]
    assert "reserve[1]" in baseline.inner_text()
    assert "it will have arrived" in candidate.inner_text()
    left, right = box(baseline), box(candidate)
    assert left["y"] == right["y"]
    assert left["right"] <= right["x"] + 1
    ordinary = opened.page.locator("tr:not(.parting) td.side").first
    colours = [cell.evaluate("e => getComputedStyle(e).backgroundColor") for cell in (baseline, candidate, ordinary)]
    assert colours[0] == colours[1] != colours[2]
    for cell in (baseline, candidate):
        assert cell.get_by_text("parts here").is_visible()


def test_on_a_phone_the_two_sides_stand_below_each_other_with_their_names(opened: Watched) -> None:
    resize(opened, PHONE)
    baseline, candidate = opened.page.locator("tr.parting td.side").all()
    assert box(baseline)["y"] + box(baseline)["height"] <= box(candidate)["y"] + 1
    assert box(baseline)["width"] > PHONE * 0.8
    assert baseline.evaluate("e => getComputedStyle(e, '::before').content") == '"baseline"'


def test_injections_are_highlighted(opened: Watched) -> None:
    injected = opened.page.locator(".step.injected .kind")
    plain = opened.page.locator(".step:not(.injected) .kind").first
    assert [kind.inner_text() for kind in injected.all()] == ["injection", "answer"]
    background = "e => getComputedStyle(e).backgroundColor"
    assert injected.first.evaluate(background) != plain.evaluate(background)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_told_from_what_is_behind_it(opened: Watched, scheme: str) -> None:
    opened.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    assert opened.page.evaluate(CONTRAST) == []


def test_letters_are_large_enough_on_a_phone(opened: Watched) -> None:
    resize(opened, PHONE)
    sizes = "Array.from(document.querySelectorAll('body *')).map(e => parseFloat(getComputedStyle(e).fontSize))"
    smallest = opened.page.evaluate(f"Math.min(...{sizes})")
    assert smallest >= 12


def test_links_within_the_page_lead_to_their_group(opened: Watched) -> None:
    opened.page.get_by_role("link", name="1", exact=True).click()
    opened.page.wait_for_url(lambda url: url.endswith("#group-1"))
    assert opened.page.locator("#group-1").get_by_role("heading").first.is_visible()
    assert opened.misdeeds == []


def test_the_navigation_leads_to_every_part_of_a_long_page(long: Watched) -> None:
    links = long.page.get_by_role("navigation").get_by_role("link")
    assert links.all_inner_texts() == ["Conditions", "Failures", "Each condition", "The run"]
    tops = []
    for link in links.all():
        link.click()
        place = long.page.locator(f"{link.get_attribute('href')} > h2")
        assert place.inner_text() == link.inner_text()
        tops.append(place.evaluate("e => e.getBoundingClientRect().top + scrollY"))
    assert tops == sorted(tops)
    assert long.misdeeds == []


def test_a_name_in_the_overview_unfolds_its_condition(long: Watched) -> None:
    table = long.page.locator("#condition-1 table").first
    assert not table.is_visible()
    assert long.page.locator("#condition-2 table").first.is_visible()
    for _ in range(2):
        long.page.get_by_role("link", name="hopeless", exact=True).click()
        assert table.is_visible()
        long.page.locator("#condition-1 summary").click()
        assert not table.is_visible()


def test_an_address_within_the_page_unfolds_what_it_names(long: Watched) -> None:
    long.page.goto(f"{long.page.url}#condition-1")
    long.page.locator("#condition-1 table").first.wait_for()  # unfolded by an event that comes after the address


def test_folded_conditions_are_printed_and_the_navigation_is_not(browser: Browser, long_report: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 700, "height": 900})
    page = context.new_page()
    page.goto(long_report.as_uri())
    assert not page.locator("#condition-1 table").first.is_visible()
    page.emulate_media(media="print")
    assert page.locator("#condition-1 table").first.is_visible()
    assert not page.get_by_role("navigation").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 700
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, 390, DESK])
def test_a_long_page_can_be_read_in_every_width_and_light(long: Watched, width: int, scheme: str) -> None:
    long.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    resize(long, width)
    assert long.width() == width
    assert long.page.evaluate(CONTRAST) == []


def test_a_command_can_be_copied(opened: Watched) -> None:
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.page.get_by_role("button", name="copy").first.click()
    opened.page.get_by_role("button", name="copied").wait_for()
    copied = opened.page.evaluate("navigator.clipboard.readText()")
    assert copied == opened.page.locator("pre.command").first.text_content()
    assert opened.misdeeds == []


def test_it_is_read_without_its_script_too(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": DESK, "height": 900})
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.get_by_role("button").count() == 0
    for told in ("The evidence supports", "They part at step", "parts here", "arci bundle"):
        assert page.get_by_text(told).first.is_visible()
    context.close()


def test_it_prints_to_pages_with_its_logs_open_and_its_buttons_gone(hostile: Watched, tmp_path: Path) -> None:
    pdf = hostile.page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 2
    hostile.page.emulate_media(media="print")
    assert not hostile.page.get_by_role("button").first.is_visible()
    resize(hostile, 700)
    assert hostile.width() == 700
    assert hostile.page.locator("details pre").first.is_visible()


@EVERY_WIDTH
def test_what_agents_say_is_inert(hostile: Watched, width: int) -> None:
    resize(hostile, width)
    for summary in hostile.page.locator("summary").all():
        summary.click()
    page = hostile.page
    assert "<script>alert(3)</script>" in page.locator("body").inner_text()
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, base, svg[onload], [onclick]").count() == 0
    assert page.get_by_role("heading", level=1).is_visible()
    assert hostile.misdeeds == []
    assert hostile.width() == width


def test_the_direction_of_writing_is_not_turned_by_what_agents_say(hostile: Watched) -> None:
    text = hostile.page.locator("body").inner_text()
    assert "\\u202e" in text
    assert not {"\u202e", "\u2066", "\u200f", "\x1b", "\x00"} & set(text)
    cell = hostile.page.locator("td", has_text="\u0633\u0644\u0627\u0645").first
    assert cell.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"


def test_even_an_injected_script_would_not_run(opened: Watched) -> None:
    """The page's policy is a second wall: were a text not escaped, it would still do nothing."""
    opened.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)><img src=https://example.com/x>')"
    )
    opened.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'alert(2)'}))"
    )
    opened.page.wait_for_function("document.images[1].complete && document.images[0].complete")
    opened.until_said("Content Security Policy")
    assert opened.dialogs == []
    assert opened.requests == []
