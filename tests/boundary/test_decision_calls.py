"""Decisions at the boundary: local refusals, the common counter, validation of answers, faults, fixtures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from upstream_driver import DECISION, SYSTEMONE, Pod, model_fault

from arci.boundary.message import Ask, Ended, Launch, LaunchFailed, Said

PATH = "/up/decisions/v1/systemone"
FIXTURE = "decisions/fixture"
ANSWERS: dict[str, Any] = {
    "urgent": {"type": "noul", "noul": 0.9},
    "team": {
        "type": "choice",
        "choice": "billing",
        "confidence": 0.85,
        "probabilities": {"billing": 0.9, "tech": 0.1, "sales": 0.0},
    },
    "anger": {
        "type": "score",
        "score": 1.3,
        "confidence": 0.5,
        "legend": {"0": "calm", "1": "cross", "2": "furious"},
        "probabilities": {"0": 0.1, "1": 0.5, "2": 0.4},
    },
}
GOOD: dict[str, Any] = {"model": "jev-1", "answers": ANSWERS, "usage": {"input_tokens": 20, "output_tokens": 3}}


def pod_of(*faults: dict[str, Any], **begin: Any) -> Pod:
    upstream = {**SYSTEMONE, **begin.pop("upstream", {})}
    return Pod(upstream, faults=list(faults), **begin)


def with_answer(name: str, **changes: Any) -> dict[str, Any]:
    return {**GOOD, "answers": {**ANSWERS, name: {**ANSWERS[name], **changes}}}


def gives(pod: Pod, body: Any, request: int = 0) -> None:
    pod.gives(json.dumps(body).encode(), request)


def test_an_admitted_decision_is_a_tool_call_with_its_answer_passed_on_as_it_came() -> None:
    pod = pod_of()
    connection = pod.post(DECISION, PATH)
    (request,) = pod.told("upstream_request")
    assert (request["upstream"], request["path"], json.loads(request["body"])) == (
        "decisions",
        "/v1/systemone",
        DECISION,
    )
    body = json.dumps(GOOD, indent=3).encode()
    pod.gives(body)
    assert (pod.got(connection).status, pod.got(connection).body) == (200, body)
    start, finish = pod.events()
    assert (start["kind"], start["tool"], start["call_id"], start["occurrence"]) == (
        "tool_start",
        "decision:systemone",
        0,
        0,
    )
    assert start["arguments"] == DECISION
    wanted = {
        "kind": "tool_finish",
        "ok": True,
        "value": GOOD,
        "error_kind": None,
        "injected_by": None,
        "executed": True,
    }
    assert {k: finish[k] for k in wanted} == wanted


QUESTION = DECISION["questions"]["team"]  # type: ignore[index]


def questions(**changes: Any) -> dict[str, Any]:
    return {**DECISION, "questions": {"q": {**QUESTION, **changes}}}


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "body",
    [
        {**DECISION, "state": 7},
        {**DECISION, "state": None},
        {k: v for k, v in DECISION.items() if k != "state"},
        {**DECISION, "model": 7},
        {**DECISION, "model": ""},
        {**DECISION, "model": "jev-2"},
        {**DECISION, "questions": {}},
        {**DECISION, "questions": []},
        {**DECISION, "questions": {"q": 1}},
        questions(type="text"),
        questions(criteria={}),
        questions(criteria=["a"]),
        questions(criteria={str(n): None for n in range(256)}),
        questions(type="score", criteria=["one"]),
        questions(type="score", criteria=list("abcdefghijk")),
        questions(type="noul", criteria="yes"),
        {**DECISION, "state": nested(64)},
        b"{",
        b"[]",
        b'{"state":"a","state":"b","model":"jev-1","questions":{}}',
    ],
)
def test_an_invalid_body_is_a_422_that_leaves_no_trace(body: Any) -> None:
    pod = pod_of(upstream={"max_decisions": 1}, budgets={"max_tool_calls": 1})
    assert pod.got(pod.post(body, PATH)).status == 422
    assert (pod.events(), pod.told("upstream_request"), pod.told("latched")) == ([], [], [])
    pod.post(DECISION, PATH)
    assert len(pod.told("upstream_request")) == 1


@pytest.mark.parametrize(
    "body",
    [
        {**DECISION, "state": "text"},
        {**DECISION, "state": []},
        {**DECISION, "state": nested(63)},
        questions(criteria={"only": None}),
        questions(criteria={str(n): None for n in range(255)}),
        questions(type="score", criteria=list("ab")),
        questions(type="score", criteria=list("abcdefghij")),
        questions(type="noul", criteria={"true": "y"}),
    ],
)
def test_a_valid_body_is_admitted(body: Any) -> None:
    pod = pod_of()
    pod.post(body, PATH)
    assert len(pod.told("upstream_request")) == 1


def test_every_other_local_refusal_leaves_no_trace_either() -> None:
    pod = pod_of(upstream={"max_body_bytes": 1000})
    chunked = b"1\r\n{\r\n0\r\n\r\n"
    found = [
        pod.got(connection).status
        for connection in (
            pod.post(DECISION, PATH, Authorization=""),
            pod.post(DECISION, PATH, Authorization="Bearer b"),
            pod.post(DECISION, "/up/decisions/v1/other"),
            pod.post(b"", PATH, "GET"),
            pod.post(chunked, PATH, length=False, Transfer_Encoding="chunked"),
            pod.post({**DECISION, "state": "x" * 1000}, PATH),
            pod.post(DECISION, PATH, Expect="100-continue"),
        )
    ]
    assert found == [401, 401, 404, 404, 411, 413, 417]
    assert (pod.events(), pod.told("upstream_request")) == ([], [])


def test_decisions_and_tool_calls_share_one_counter() -> None:
    pod = pod_of(budgets={"max_tool_calls": 2})
    worker = pod.open()
    pod.call(worker, "nosuch")
    gone = pod.post(DECISION, PATH)
    gives(pod, GOOD)
    assert pod.got(gone).status == 200
    over = pod.post(DECISION, PATH)
    assert (pod.got(over).status, pod.told("latched")) == (403, [{"type": "latched", "budget": "max_tool_calls"}])
    assert [e["call_id"] for e in pod.events("tool_start")] == [0, 1, 2]
    assert pod.events("tool_finish")[-1]["error_kind"] == "budget"


def test_over_its_own_budget_a_decision_is_a_403_that_latches() -> None:
    pod = pod_of(upstream={"max_decisions": 1})
    pod.post(DECISION, PATH)
    assert [pod.got(pod.post(DECISION, PATH)).status for _ in range(3)] == [403, 403, 403]
    assert pod.told("latched") == [{"type": "latched", "budget": "max_decisions"}]
    assert len(pod.events("tool_start")) == 1


def test_a_forbidden_decision_is_refused_and_recorded() -> None:
    pod = pod_of(contract={"forbidden_tools": ["decision:systemone"]})
    assert pod.got(pod.post(DECISION, PATH)).status == 403
    assert pod.kinds() == ["tool_start", "violation", "tool_finish"]
    assert pod.told("upstream_request") == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {**GOOD, "model": "jev-2"},
        {**GOOD, "answers": {}},
        {**GOOD, "answers": {**ANSWERS, "more": ANSWERS["urgent"]}},
        with_answer("urgent", type="choice"),
        with_answer("urgent", noul=1.01),
        with_answer("urgent", noul=True),
        with_answer("team", choice="other"),
        with_answer("team", probabilities={"billing": 0.9, "tech": 0.1}),
        with_answer("team", probabilities={"billing": 0.9, "tech": 0.1, "sales": 0.01}),
        with_answer("team", probabilities={"billing": 1.1, "tech": -0.1, "sales": 0.0}),
        with_answer("team", probabilities=None),
        with_answer("anger", score=None),
        with_answer("anger", probabilities={"0": 0.5, "1": 0.5}),
    ],
)
def test_an_answer_that_does_not_fit_voids_the_trial(body: Any) -> None:
    pod = pod_of()
    connection = pod.post(DECISION, PATH)
    gives(pod, body)
    assert pod.got(connection).status == 502
    (trouble,) = pod.told("trouble")
    assert (trouble["blame"], pod.events("tool_finish")[0]["error_kind"]) == ("environment", "environment")


def test_probabilities_may_miss_one_by_a_thousandth() -> None:
    pod = pod_of()
    connection = pod.post(DECISION, PATH)
    gives(pod, with_answer("team", probabilities={"billing": 0.9, "tech": 0.1, "sales": 0.0009}))
    assert pod.got(connection).status == 200


def test_an_error_of_the_endpoint_is_passed_on_and_a_failure_is_a_502() -> None:
    pod = pod_of()
    refused = pod.post(DECISION, PATH)
    pod.gives(b'{"detail":"max_tokens_exceeded"}', status=400)
    failed = pod.post(DECISION, PATH)
    pod.host("upstream_failed", 1, kind="timeout", detail="5 s")
    assert (pod.got(refused).json, pod.got(refused).status) == ({"detail": "max_tokens_exceeded"}, 400)
    assert pod.got(failed).status == 502
    assert [e["error_kind"] for e in pod.events("tool_finish")] == ["error", "timeout"]


def test_an_agent_that_hangs_up_cancels_the_decision() -> None:
    pod = pod_of()
    pod.close(pod.post(DECISION, PATH))
    assert pod.kinds() == ["tool_start", "cancelled", "tool_finish"]
    assert [f["request"] for f in pod.told("upstream_cancel")] == [0]


# Faults


def test_unavailable_lasts_from_its_occurrence_on() -> None:
    pod = pod_of(model_fault("decision_unavailable", 1))
    first = pod.post(DECISION, PATH)
    gives(pod, GOOD)
    later = [pod.got(pod.post(DECISION, PATH)).status for _ in range(3)]
    assert (pod.got(first).status, later, len(pod.told("upstream_request"))) == (200, [529, 529, 529], 1)
    assert [(e["fault"], e["tool"], e["occurrence"]) for e in pod.events("injection")] == [
        ("decision_unavailable", "decision:systemone", n) for n in (1, 2, 3)
    ]
    assert {e["injected_by"] for e in pod.events("tool_finish")} == {None, "decision_unavailable"}


def test_low_confidence_makes_choices_less_certain_and_nothing_else() -> None:
    pod = pod_of(model_fault("decision_low_confidence"))
    connection = pod.post(DECISION, PATH)
    gives(pod, GOOD)
    answers = pod.got(connection).json["answers"]
    assert (answers["urgent"], answers["anger"]) == (ANSWERS["urgent"], ANSWERS["anger"])
    team = answers["team"]
    assert (team["choice"], team["confidence"]) == ("billing", 0.4)
    assert sum(team["probabilities"].values()) == pytest.approx(1)
    assert (3 * team["probabilities"]["billing"] - 1) / 2 == pytest.approx(0.4)
    finish = pod.events("tool_finish")[0]
    assert (finish["injected_by"], finish["value"]["answers"]) == ("decision_low_confidence", answers)


def test_a_choice_that_is_no_more_certain_than_that_is_not_met() -> None:
    pod = pod_of(model_fault("decision_low_confidence", confidence_max=0.9))
    connection = pod.post(DECISION, PATH)
    body = json.dumps(GOOD).encode()
    pod.gives(body)
    assert (pod.got(connection).body, pod.events("injection")) == (body, [])


# The fixture


def fixture(reference: str) -> Any:
    return ["run", reference], "/work", {"A": "b"}


def fixture_pod(**begin: Any) -> Pod:
    return Pod({**SYSTEMONE, "fixture": "fix:decide"}, fixture=fixture, **begin)


def asked(pod: Pod) -> list[Any]:
    return [json.loads(a.data) for a in pod.actions if isinstance(a, Ask) and a.process == FIXTURE]


def said(pod: Pod, **frame: Any) -> None:
    pod.handle(Said(FIXTURE, json.dumps(frame).encode() + b"\n"))


def test_a_fixture_is_started_with_the_trial_and_answers_in_the_hosts_place() -> None:
    pod = fixture_pod()
    assert [a for a in pod.actions if isinstance(a, Launch)] == [
        Launch(FIXTURE, ["run", "fix:decide"], {"A": "b"}, "/work")
    ]
    first, second = pod.post(DECISION, PATH), pod.post(DECISION, PATH)
    assert asked(pod) == [{"request": DECISION, "seed": 7, "occurrence": 0}]
    said(pod, answer={"answers": ANSWERS})
    said(pod, answer=GOOD)
    assert [a["occurrence"] for a in asked(pod)] == [0, 1]
    assert pod.got(first).json["model"] == "jev-1"
    assert pod.got(second).json == GOOD
    assert pod.told("upstream_request") == []


@pytest.mark.parametrize("frame", [{"error": "ValueError: x"}, {"answer": 7}, {}, {"answer": {"answers": {}}}])
def test_a_fixture_that_gives_no_valid_answer_voids_the_trial(frame: Any) -> None:
    pod = fixture_pod()
    connection = pod.post(DECISION, PATH)
    said(pod, **frame)
    assert (pod.got(connection).status, [t["blame"] for t in pod.told("trouble")]) == (502, ["environment"])


def test_a_fixture_that_ends_fails_what_is_open_and_all_that_follows() -> None:
    pod = fixture_pod()
    first = pod.post(DECISION, PATH)
    pod.handle(Ended(FIXTURE, "exit status 1"))
    assert (pod.got(first).status, pod.got(pod.post(DECISION, PATH)).status) == (502, 502)
    assert all("exit status 1" in t["detail"] for t in pod.told("trouble"))


def test_a_fixture_that_cannot_be_started_is_told_before_anything_is_asked() -> None:
    pod = fixture_pod()
    pod.handle(LaunchFailed(FIXTURE, "run 'x': No such file"))
    assert "No such file" in pod.told("trouble")[0]["detail"]


def test_a_fixture_that_does_not_answer_is_killed() -> None:
    pod = fixture_pod(budgets={"tool_seconds": 3})
    connection = pod.post(DECISION, PATH)
    pod.due("decide")
    assert (pod.got(connection).status, pod.now_s) == (502, 103.0)
    assert "no answer within 3 s" in pod.told("trouble")[0]["detail"]


def test_a_fixture_ends_with_the_agent_and_that_is_no_trouble() -> None:
    pod = fixture_pod()
    pod.agent_gone()
    pod.handle(Ended(FIXTURE, "exit status 0"))
    pod.reply({"state": {}})
    assert (pod.told("trouble"), len(pod.told("end"))) == ([], 1)
