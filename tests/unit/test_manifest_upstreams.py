"""Models and decisions in a descriptor: defaults by kind, keys that stay on the host, faults that have a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import manifest_document
from test_manifest_descriptor import MINIMAL, load, only, problems

from arci.manifest.fields import _url
from arci.manifest.seal import _check_types
from arci.model.manifest import Manifest

OPENAI = "models: {openai: {kind: openai}}\n"
DECISIONS = "decisions: {upstream: fixture, fixture: 'world:decide', model: jev}\n"


def models(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load(tmp_path, MINIMAL + text).document["models"]
    return found


def condition(fault: str) -> str:
    return f"conditions: [{{id: a, fault: {{{fault}}}}}]\n"


def test_a_public_provider_has_every_default_written_out(tmp_path: Path) -> None:
    of_openai, of_anthropic = models(tmp_path, "models: {gpt: {kind: openai}, claude: {kind: anthropic}}")
    assert of_openai == {
        "name": "gpt",
        "kind": "openai",
        "base_url": "https://api.openai.com/v1",
        "key": "OPENAI_API_KEY",
        "model": None,
        "env": {"base_url": "OPENAI_BASE_URL", "key": "OPENAI_API_KEY"},
        "max_requests_per_minute": 600,
        "concurrency": 16,
        "request_seconds": 60.0,
        "max_body_bytes": 4194304,
        "prices": {},
    }
    assert (of_anthropic["base_url"], of_anthropic["key"]) == ("https://api.anthropic.com", "ANTHROPIC_API_KEY")
    assert of_anthropic["env"] == {"base_url": "ANTHROPIC_BASE_URL", "key": "ANTHROPIC_API_KEY"}


def test_a_key_goes_to_an_address_of_ones_own_only_if_it_is_named(tmp_path: Path) -> None:
    (unnamed,) = models(tmp_path, "models: {m: {kind: openai, base_url: 'http://127.0.0.1:1/v1'}}")
    assert unnamed["key"] is None
    (named,) = models(tmp_path, "models: {m: {kind: openai, base_url: 'https://h/v1', key: MY_KEY}}")
    assert named["key"] == "MY_KEY"


def test_a_cached_token_costs_as_much_as_any_unless_it_is_told(tmp_path: Path) -> None:
    prices = "{a: {input: 2, output: 8}, '*': {input: 3, output: 9, cached_input: 0.5}}"
    (model,) = models(tmp_path, f"models: {{m: {{kind: openai, prices: {prices}}}}}")
    assert model["prices"] == {
        "a": {"input": 2.0, "output": 8.0, "cached_input": 2.0},
        "*": {"input": 3.0, "output": 9.0, "cached_input": 0.5},
    }


def test_decisions_have_their_defaults_and_a_fixture_needs_no_key(tmp_path: Path) -> None:
    document = load(tmp_path, MINIMAL + DECISIONS).document["decisions"]
    assert (document["name"], document["key"], document["max_decisions"]) == ("decisions", None, 50)
    assert (document["request_seconds"], document["max_body_bytes"]) == (5.0, 262144)
    assert document["env"] == {"base_url": "TYPESAFE_BASE_URL", "key": "TYPESAFE_API_KEY"}
    http = load(tmp_path, MINIMAL + "decisions: {upstream: http, model: jev}\n").document["decisions"]
    assert (http["base_url"], http["key"]) == ("https://api.typesafe.ai", "TYPESAFE_API_KEY")


def test_a_sealed_manifest_is_read_with_them_and_an_older_one_without() -> None:
    older = Manifest.from_document(manifest_document())
    assert (older.models, older.decisions, older.budgets.max_model_calls) == ((), None, 50)


def test_what_a_descriptor_says_of_them_passes_the_reader_of_sealed_manifests(tmp_path: Path) -> None:
    text = MINIMAL + DECISIONS + "models: {m: {kind: openai, prices: {'*': {input: 1, output: 2}}}}\n"
    said = load(tmp_path, text).document
    document = manifest_document(models=said["models"], decisions=said["decisions"], budgets=said["budgets"])
    _check_types(document)
    manifest = Manifest.from_document(document)
    assert manifest.models[0].prices["*"] == {"input": 1.0, "output": 2.0, "cached_input": 1.0}
    assert manifest.decisions is not None
    assert manifest.decisions.fixture == "world:decide"


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("models: {m: {kind: gemini}}", "models.m.kind", "allowed: openai, anthropic"),
        ("models: {decisions: {kind: openai}}", "models.decisions", "another name"),
        ("models: {'a/b': {kind: openai}}", "models.a/b", "letters, digits"),
        ("models: {m: {kind: openai, concurrency: 0}}", "models.m.concurrency", "1 or more"),
        ("models: {m: {kind: openai, base_url: 'ftp://h'}}", "models.m.base_url", "is not a base URL"),
        ("models: {m: {kind: openai, base_url: 'https://h/v1?k=1'}}", "models.m.base_url", "without query"),
        ("models: {a: {kind: openai}, b: {kind: openai}}", "models.b", "variable of models.a.env.base_url"),
        ("models: {m: {kind: openai, env: {key: ARCI_SEED}}}", "models.m.env.key", "ARCI's own"),
        ("models: {m: {kind: openai, env: {key: OPENAI_BASE_URL}}}", "models.m.env.key", "variable of its own"),
        ("decisions: {upstream: fixture, model: jev}", "decisions.fixture", "is missing"),
        ("decisions: {upstream: http, model: jev, fixture: 'a:b'}", "decisions.fixture", "one of both"),
        (DECISIONS.replace("jev", "jev, key: K"), "decisions.key", "calls nothing"),
        ("budgets: {max_usd: 1}", "budgets.max_usd", "no models"),
        ("budgets: {max_tokens: 9}", "budgets.max_tokens", "no models"),
        (OPENAI + "budgets: {max_usd: 1}", "models.openai.prices", "any model may be asked"),
    ],
)
def test_what_is_wrong_is_one_problem_at_its_place(tmp_path: Path, text: str, path: str, said: str) -> None:
    found = problems(tmp_path, MINIMAL + text.rstrip() + "\n")
    assert [place for _, place, _ in found if place == path], found
    assert any(said in message for _, place, message in found if place == path), found


def test_a_price_of_the_pinned_model_is_enough_to_count_money(tmp_path: Path) -> None:
    prices = "prices: {gpt-x: {input: 1, output: 2}}"
    text = f"models: {{m: {{kind: openai, model: gpt-x, {prices}}}}}\nbudgets: {{max_usd: 0.5}}\n"
    assert load(tmp_path, MINIMAL + text).document["budgets"]["max_usd"] == 0.5
    _, path, message = only(tmp_path, MINIMAL + text.replace("model: gpt-x", "model: gpt-y"))
    assert path == "models.m.prices"
    assert "'gpt-y' or '*'" in message


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    _, path, message = only(tmp_path, MINIMAL + "models: {m: {kind: openai, base_url: 'https://me:secret@h/v1'}}\n")
    assert path == "models.m.base_url"
    assert "secret" not in message
    assert _url("https://host:8443/v1/openai") is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("secrets: [OPENAI_API_KEY]\n", "secrets[0]"),
        ("secrets: [MY_KEY]\n", "secrets[0]"),
    ],
)
def test_the_key_of_a_model_is_no_secret_that_arms_may_take(tmp_path: Path, text: str, path: str) -> None:
    key = ", key: MY_KEY, base_url: 'https://h/v1'" if "MY_KEY" in text else ""
    _, found, message = only(tmp_path, MINIMAL + f"models: {{openai: {{kind: openai{key}}}}}\n" + text)
    assert found == path
    assert "keys stay on the host" in message


def test_an_arm_can_neither_take_the_key_nor_set_what_the_agent_is_given(tmp_path: Path) -> None:
    arm = "{agent: 'a:b', env: {TOKEN: '${OPENAI_API_KEY}', OPENAI_BASE_URL: 'http://x'}}"
    text = MINIMAL.replace("baseline: old.agent:run", f"baseline: {arm}") + OPENAI
    found = [f"{path}: {message}" for _, path, message in problems(tmp_path, text)]
    assert any(
        problem.startswith("baseline.env.TOKEN: ") and "the key of models.openai" in problem for problem in found
    )
    (given,) = [problem for problem in found if problem.startswith("baseline.env.OPENAI_BASE_URL: ")]
    assert "is what the agent is given by models.openai.env.base_url" in given


@pytest.mark.parametrize(
    ("declared", "fault", "path", "said"),
    [
        ("", "name: model_timeout", "name", "none are declared"),
        ("", "name: decision_unavailable", "name", "none are declared"),
        (OPENAI, "name: model_error, tool: reserve", "tool", "no declared model; allowed: model:openai"),
        (OPENAI, "name: model_error, tool: openai", "tool", "allowed: model:openai"),
        (OPENAI, "name: tool_timeout, tool: 'model:openai'", "tool", "disturbs tools"),
        (DECISIONS, "name: latency, tool: 'decision:systemone'", "tool", "is a decision"),
        (DECISIONS, "name: decision_unavailable, tool: reserve", "tool", "is no decision"),
    ],
)
def test_a_fault_needs_what_it_disturbs(tmp_path: Path, declared: str, fault: str, path: str, said: str) -> None:
    _, found, message = only(tmp_path, MINIMAL + declared + condition(fault))
    assert found == f"conditions[0].fault.{path}"
    assert said in message


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        (OPENAI, "name: model_timeout"),
        (OPENAI, "name: model_slow, tool: 'model:openai'"),
        (DECISIONS, "name: decision_low_confidence"),
        (DECISIONS, "name: decision_unavailable, tool: 'decision:systemone'"),
    ],
)
def test_a_fault_of_what_is_declared_is_taken(tmp_path: Path, declared: str, fault: str) -> None:
    (taken,) = load(tmp_path, MINIMAL + declared + condition(fault)).document["conditions"]
    assert taken["faults"][0]["name"] in fault
