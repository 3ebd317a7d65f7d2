"""The HTML page of a run as data: what it tells, that nothing of an agent's is markup, and that it is bounded."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from e2e import call
from runs import Parts, condition, evidence, fault, make_run, manifest_document, trial_parts

from arci.diagnose.triage import triage_of, triage_run
from arci.gate.decide import decide
from arci.model.trial import Trial
from arci.report.html import render_html
from arci.report.html_plot import Scale, difference_scale
from arci.report.html_text import code, element, said
from arci.store.logs import LogTail
from arci.store.run import StoredRun

VOID = {"meta", "link", "rect", "line", "circle"}
NASTY = (
    "</script></style></pre><img src=x onerror=alert(1)>\"'><script>alert(1)</script>\u202e\x1b[2J\x00\ud800"
    + "W" * 5000
)
RETRY = {"baseline": "P" * 192 + "F" * 8, "candidate": "P" * 132 + "F" * 68}
NOWHERE = Path("nowhere")


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails on an element that is not closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.shown = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs))
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.shown += data

    def named(self, tag: str, class_: str | None = None) -> list[dict[str, str | None]]:
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and (class_ is None or class_ in (attrs.get("class") or "").split())
        ]


def page_of(run: StoredRun, directory: Path = NOWHERE) -> Page:
    return Page(render_html(triage_of(directory, run, decide(run))))


def stored_page(directory: Path) -> Page:
    return Page(render_html(triage_run(directory)))


def parting(trial: Trial, letter: str) -> Parts:
    record, events, logs = trial_parts(trial, letter)
    again = {"kind": "tool_start", "tool": "reserve", "call_id": "2", "occurrence": 1, "arguments": {}}
    return record, [*events[:3], *([again] if letter == "P" else []), events[3]], logs


def test_the_page_tells_verdict_counts_bounds_and_circumstances() -> None:
    page = page_of(evidence(outcomes=RETRY))
    for told in (
        "BLOCK synthetic",
        "The evidence supports a drop from baseline to candidate larger than 0.1.",
        "Candidate minus baseline: [-0.4048, -0.1829] against -0.1000.",
        "192/200",
        "132/200",
        "0.6600",
        "[0.9231, 0.9796]",
        "tool_timeout on reserve, call 0",
        "200 in 200 of 200 trials",
        "oracle|reserve timeout tool_timeout",
        "process isolation isolates nothing",
        "interrupted starts that were, or must be, made again: 0",
    ):
        assert told in page.shown


def test_marks_of_the_drawing_stand_where_the_numbers_say() -> None:
    run = evidence(outcomes=RETRY)
    decision = decide(run)
    scale = difference_scale(decision)
    page = page_of(run)
    low, high = [a["x1"] for a in page.named("line", "cap")][:2]
    (margin,), (zero,) = ([m["x1"] for m in page.named("line", kind)] for kind in ("margin", "zero"))
    drawn = decision.conditions[0]
    values = (drawn.delta_low, drawn.delta_high, -0.1, 0.0)
    assert [low, high, margin, zero] == [f"{scale.at(value or 0.0):.3f}%" for value in values]
    assert drawn.delta_low is not None
    assert scale.low < drawn.delta_low < -0.1 < 0 < scale.high


@pytest.mark.parametrize("outcomes", [RETRY, {"baseline": "P" * 8, "candidate": "F" * 8}, {"baseline": "P" * 5000}])
def test_a_scale_holds_every_bound_with_few_ticks(outcomes: dict[str, str]) -> None:
    decision = decide(evidence(outcomes={"candidate": outcomes["baseline"], **outcomes}))
    scale = difference_scale(decision)
    ticks = scale.ticks()
    assert [ticks[0], ticks[-1]] == pytest.approx([scale.low, scale.high])
    assert 2 <= len(ticks) <= 7
    assert 0.0 in ticks
    for value in (decision.conditions[0].delta_low, decision.conditions[0].delta_high, -0.1):
        assert value is not None
        assert scale.low <= value <= scale.high


def test_a_value_beyond_a_scale_stands_at_its_end() -> None:
    scale = Scale(-0.5, 0.5, 0.1)
    assert (scale.at(-2), scale.at(0), scale.at(2)) == (scale.at(-0.5), 50, scale.at(0.5))


def test_two_traces_stand_side_by_side_with_the_divergence_and_injections_marked(tmp_path: Path) -> None:
    page = stored_page(make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "PF"}, parts=parting))
    assert len(page.named("tr", "parting")) == 1
    assert len(page.named("div", "injected")) == 1
    arms = [cell["data-arm"] for cell in page.named("td", "side")]
    assert arms == ["baseline", "candidate"] * 2
    assert page.shown.count("parts here") == 2
    assert "They part at step 3." in page.shown
    assert "Last injection before that: tool_timeout on reserve[0]." in page.shown
    assert f"arci bundle {tmp_path / 'synthetic'} reserve-timeout:00001:candidate --out" in page.shown
    assert "seed 12001" in page.shown


def test_the_page_asks_for_nothing_and_allows_nothing_but_its_own_style_and_script() -> None:
    page = page_of(evidence(outcomes=RETRY))
    (policy,) = [m["content"] for m in page.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    links = [value for _, attrs in page.elements for key, value in attrs.items() if key in ("href", "src")]
    assert all(value == "data:," or (value or "").startswith("#") for value in links)
    assert len(page.named("script")) == 1
    assert not [key for _, attrs in page.elements for key in attrs if key.startswith("on") or key == "style"]
    assert not re.search(r"https?://|url\(|@import", page.source)


def test_the_page_is_built_for_readers_of_every_kind() -> None:
    page = page_of(evidence(outcomes=RETRY))
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("h1")) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(page.named("caption")) == len(page.named("table"))
    assert all(head.get("scope") in ("row", "col") for head in page.named("th"))
    drawings = page.named("svg")
    assert all(svg.get("aria-label") or svg.get("aria-hidden") == "true" for svg in drawings)
    labels = [svg["aria-label"] for svg in drawings if svg.get("role") == "img"]
    assert "reserve-timeout: candidate minus baseline within [-0.4048, -0.1829] against -0.1: BLOCK" in labels
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.named("meta")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = make_run(tmp_path, outcomes={"baseline": "PPFE", "candidate": "PFFE"}, parts=parting)
    assert render_html(triage_run(run)) == render_html(triage_run(run))


def nasty(trial: Trial, letter: str) -> Parts:
    told: dict[str, Any] = {} if letter == "P" else {"detail": NASTY, "fingerprint": NASTY}
    record, events, logs = trial_parts(trial, letter, agent={"claim": NASTY}, **told)
    events[1].update(tool=NASTY, arguments={NASTY: NASTY})
    step = {"kind": "model_step", "summary": NASTY, "facts": {NASTY: NASTY}}
    odd = {"kind": NASTY.replace("\ud800", ""), "value": NASTY}
    end = {"kind": "agent_result", "claim": {NASTY: letter}}
    logs["agent"]["stderr"] = LogTail(NASTY.encode("utf-8", "backslashreplace"), b"", len(NASTY) + 5)
    return record, [*events[:3], step, odd, end, events[3]], logs


@pytest.mark.parametrize("outcomes", [{"baseline": "PF", "candidate": "FE"}, {"baseline": "PPPP", "candidate": "FFFF"}])
def test_hostile_text_in_every_place_is_text(outcomes: dict[str, str], tmp_path: Path) -> None:
    arm = {**manifest_document()["arms"]["baseline"], "label": NASTY}
    directory = make_run(
        tmp_path,
        outcomes=outcomes,
        parts=nasty,
        arms={"baseline": arm, "candidate": arm},
        tasks=[{"id": NASTY, "task": {}}, {"id": "b", "task": {}}],
        prior_runs=[NASTY, {"store": NASTY, "manifest_sha256": NASTY, "verdict": NASTY}],
    )
    triage = triage_run(directory)
    assert triage.run.info is not None
    info = {**triage.run.info, "warnings": [NASTY], "engine": {NASTY: NASTY}}
    page = Page(render_html(replace(triage, run=replace(triage.run, info=info, notes=(NASTY,)))))
    calm = stored_page(make_run(tmp_path / "calm", outcomes=outcomes))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in calm.elements} | {"h4", "details", "summary", "pre"}
    assert len(page.named("script")) == 1
    assert not page.named("img")
    assert not [key for _, attrs in page.elements for key in attrs if key.startswith("on")]
    assert all(c in "\n\t" or c.isprintable() for c in page.source)
    assert page.source.encode("utf-8")
    assert "\\u202e" in page.shown


def test_hostile_ids_in_damaged_records_are_text() -> None:
    run = evidence(outcomes={"baseline": "PP", "candidate": "FE"})
    records = tuple({**record, "trial_id": f"{NASTY}{n}", "seed": NASTY} for n, record in enumerate(run.records))
    page = page_of(replace(run, records=records))
    assert not page.named("img")
    assert "ERROR" in page.shown


def test_a_run_of_which_nothing_can_be_read_has_a_page_too() -> None:
    page = page_of(StoredRun(None, ({"trial_id": 7}, {}, {"trial_id": "x", "outcome": "FAIL"}), None))
    assert "a run without a name" in page.shown
    assert "None can be read from this run." in page.shown
    assert "There are no two traces to compare." in page.shown


def test_the_page_of_a_great_run_is_bounded_and_says_what_it_leaves_out() -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        return trial_parts(trial, letter, fingerprint=f"oracle|{trial.index}|{'<' * 2000}", detail="<" * 100_000)

    tasks = [{"id": f"task-{number}", "task": {}} for number in range(300)]
    run = evidence(outcomes={"baseline": "P" * 300, "candidate": "F" * 300}, parts=parts, tasks=tasks)
    page = page_of(run)
    assert len(page.source) < 2_000_000
    for told in (
        "And 200 trials in 200 more groups.",
        "Traces are shown of the first 10 groups.",
        "The first 200 of 300 tasks.",
    ):
        assert told in page.shown


def test_long_traces_are_shown_around_where_they_part(tmp_path: Path) -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        record, events, logs = trial_parts(trial, letter)
        steps = [{"kind": "model_step", "summary": f"step {n} " + "x" * 9000, "facts": {}} for n in range(500)]
        steps[250]["summary"] = trial.arm
        return record, [*events[:3], *steps, events[3]], logs

    directory = make_run(tmp_path, outcomes={"baseline": "P", "candidate": "F"}, parts=parts)
    page = Page(call_report(directory, tmp_path / "page.html"))
    assert "Steps 223 to 283 of 503; `arci diff --all-steps` has all." in page.shown
    assert len(page.named("tr", "parting")) == 1
    assert len(page.source) < 100_000


def call_report(directory: Path, out: Path) -> str:
    from arci.report.render import render

    out.write_text(render(directory, "html"), encoding="utf-8")
    return out.read_text(encoding="utf-8")


def test_several_conditions_have_a_forest_and_those_that_do_not_gate_are_told_apart() -> None:
    conditions = [
        condition("clean", "clean"),
        condition("slow", "benign", fault("latency", min_injections=0)),
        condition("hopeless", "ceiling", fault()),
    ]

    def parts(trial: Trial, letter: str) -> Parts:
        flipped = (trial.condition_id, trial.arm, trial.index) == ("slow", "candidate", 3)
        return trial_parts(trial, "F" if flipped else letter, injections=[])

    page = page_of(evidence(conditions=conditions, parts=parts))
    assert len(page.named("svg", "ungated")) == 1
    labels = [svg.get("aria-label") or "" for svg in page.named("svg", "forest")]
    assert [sum(label.startswith(name) for label in labels) for name in ("clean", "slow", "hopeless")] == [2, 2, 1]
    assert "slow:00003:candidate: PASS without, FAIL with it" in page.shown
    assert "reported, does not gate" in page.shown


def several(letters: dict[str, str]) -> Page:
    """Of three conditions: `gone` as the candidate's letters are there, `clean` passed, `hopeless` does not gate."""
    conditions = [
        condition("clean", "clean"),
        condition("hopeless", "ceiling", fault()),
        condition("gone", "falsify", fault()),
    ]

    def parts(trial: Trial, letter: str) -> Parts:
        letter = letters.get(trial.condition_id, "P") if trial.arm == "candidate" else "P"
        injections = [] if trial.condition_id == "clean" else trial_parts(trial, "F")[0]["injections"]
        return trial_parts(trial, letter, injections=injections, fingerprint=trial.condition_id)

    return page_of(
        evidence(outcomes={"baseline": "P" * 120, "candidate": "P" * 120}, conditions=conditions, parts=parts)
    )


def navigation(page: Page) -> list[str]:
    links = [attrs.get("href") or "" for attrs in page.named("a")]
    return list(dict.fromkeys(link for link in links if re.fullmatch("#[a-z]+", link)))


def test_of_a_block_failures_come_before_the_conditions_one_by_one() -> None:
    page = several({"gone": "F", "hopeless": "F"})
    assert page.shown.strip().startswith("BLOCK")
    assert navigation(page) == ["#conditions", "#failures", "#each", "#run"]
    ids = [attrs["id"] for tag, attrs in page.elements if tag in ("section", "details") and "id" in attrs]
    assert ids == [
        "conditions",
        "failures",
        "group-1",
        "group-2",
        "each",
        "condition-1",
        "condition-2",
        "condition-3",
        "run",
    ]
    assert page.shown.index("Group 1: FAIL gone") < page.shown.index("Group 2: FAIL hopeless")
    assert "gone (BLOCK)" in page.shown
    assert "hopeless (does not gate)" in page.shown


def test_without_a_block_conditions_come_first_and_one_has_no_overview() -> None:
    assert navigation(several({})) == ["#conditions", "#each", "#failures", "#run"]
    assert navigation(page_of(evidence(outcomes=RETRY))) == ["#failures", "#conditions", "#run"]
    assert navigation(page_of(evidence())) == ["#conditions", "#failures", "#run"]


def test_conditions_that_passed_or_do_not_gate_are_folded_and_every_name_leads_to_its_own() -> None:
    page = several({"gone": "F", "hopeless": "F"})
    folded = [details["id"] for details in page.named("details", "condition")]
    assert folded == ["condition-1", "condition-2"]
    assert "passed 120/120 against 0/120" in page.shown
    links = [attrs["href"] for attrs in page.named("a") if (attrs.get("href") or "").startswith("#condition-")]
    assert links == ["#condition-3", "#condition-1", "#condition-2", "#condition-3"]
    assert not page_of(evidence()).named("details", "condition")


def test_that_processes_isolate_nothing_is_said_once() -> None:
    run = evidence(outcomes=RETRY)
    warned = replace(run, info={**(run.info or {}), "warnings": ["process isolation isolates nothing: so and so"]})
    for told in (run, warned):
        assert page_of(told).shown.count("isolates nothing") == 1
    assert "isolation: process" in page_of(warned).shown


def test_excluded_and_interrupted_trials_and_hard_rules_are_told() -> None:
    contract = {**manifest_document()["contract"], "forbidden_tools": ["x"], "hard": ["forbidden_tools"]}

    def parts(trial: Trial, letter: str) -> Parts:
        broken = {"violations": [{"invariant": "forbidden_tools", "tool": "x", "detail": ""}], "required_missing": []}
        if (trial.arm, trial.index) == ("candidate", 0):
            return trial_parts(trial, "F", contract={"success": None, **broken})
        return trial_parts(trial, letter)

    outcomes = {"baseline": "PPPP", "candidate": "FPPE"}
    run = evidence(outcomes=outcomes, contract=contract, parts=parts, on_error="worst_case")
    run = replace(run, in_flight=("reserve-timeout:00002:baseline",))
    page = page_of(run)
    for told in ("broke the hard rule forbidden_tools", "ERROR by blame", "harness 1", "made again: 1"):
        assert told in page.shown


def test_what_models_were_asked_is_told_by_arm() -> None:
    use = {"kind": "openai", "calls": 3, "input_tokens": 10, "output_tokens": 5, "latencies_s": [0.5]}

    def parts(trial: Trial, letter: str) -> Parts:
        return trial_parts(trial, letter, models={"m": use} if trial.arm == "candidate" else {})

    page = page_of(evidence(parts=parts))
    for told in ("model calls", "24 (3.0 per trial)", "80, 40", "p50 0.50 s"):
        assert page.shown.count(told) == 2
    assert navigation(page) == ["#conditions", "#failures", "#usage", "#run"]


def test_text_within_an_element_or_an_attribute_is_never_markup() -> None:
    assert said("<a href=\"x\">'&'") == "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;&#x27;"
    assert said("x" * 10**6, 10) == "xxxxxxx..."
    assert code("\u202e") == "<code>\\u202e</code>"
    assert element("i", "<b>", class_='"') == '<i class="&quot;"><b></i>'


def test_the_command_writes_the_page_to_a_file_or_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = make_run(tmp_path, outcomes={"baseline": "PP", "candidate": "FF"}), tmp_path / "page.html"
    printed = call(capsys, "report", run, "--format", "html")
    written = call(capsys, "report", run, "--format", "html", "--out", out)
    assert (printed.exit_code, written.exit_code, written.stdout) == (0, 0, "")
    assert out.read_text(encoding="utf-8") == printed.stdout
    assert Page(printed.stdout).shown.startswith("\n")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "report", make_run(tmp_path), "--format", "html", "--out", tmp_path / "no" / "page.html")
    assert ended.exit_code == 64
    assert f"{str(tmp_path / 'no')!r} is not a directory" in ended.stderr


def test_a_file_is_not_for_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "report", make_run(tmp_path), "--json", "--out", tmp_path / "x").exit_code == 64
