"""Descriptors: every problem at once with its line, nothing coerced, every default written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arci.errors import SpecError
from arci.manifest.descriptor import Descriptor, Overrides, json_schema, load_descriptor

MINIMAL = """\
experiment_id: small
toolset: world:make
oracle: judge:check
baseline: old.agent:run
candidate: new.agent:run
"""


def load(tmp_path: Path, text: str, **overrides: Any) -> Descriptor:
    path = tmp_path / "arci.yaml"
    path.write_text(text, encoding="utf-8")
    return load_descriptor(path, overrides=Overrides(**overrides))


def problems(tmp_path: Path, text: str, **overrides: Any) -> list[tuple[str, str, str]]:
    """(where without the directory, path, message) of every problem."""
    with pytest.raises(SpecError) as caught:
        load(tmp_path, text, **overrides)
    assert caught.value.exit_code == 64
    return [(Path(p.where).name, p.path, p.message) for p in caught.value.problems]


def only(tmp_path: Path, text: str, **overrides: Any) -> tuple[str, str, str]:
    (problem,) = problems(tmp_path, text, **overrides)
    return problem


def test_the_smallest_descriptor_has_every_default_written_out(tmp_path: Path) -> None:
    document = load(tmp_path, MINIMAL).document
    assert document["tasks"] == [{"id": "small", "task": {}}]
    assert document["conditions"] == [{"id": "clean", "bucket": "clean", "is_gating": True, "faults": []}]
    assert (document["alpha"], document["delta"], document["n_per_arm"]) == (0.05, 0.10, 200)
    assert document["budgets"] == {
        "max_tool_calls": 30,
        "max_model_steps": 50,
        "max_seconds": 30.0,
        "grader_seconds": 20.0,
        "setup_seconds": 120.0,
        "tool_seconds": 30.0,
        "max_model_calls": 50,
        "max_tokens": None,
        "max_usd": None,
    }
    assert (document["models"], document["decisions"]) == ([], None)
    assert document["isolation"]["backend"] == "process"
    assert document["isolation"]["memory_bytes"] == 512 << 20
    assert document["isolation"]["disk_bytes"] == 256 << 20
    assert document["arms"]["candidate"]["ref"] == "new.agent:run"
    assert document["arms"]["candidate"]["label"] == "new.agent:run"


def test_seven_different_mistakes_are_seven_lines(tmp_path: Path) -> None:
    text = """\
experiment_id: ../escape
toolset: world:make
oracle: judge:check
baseline: {label: nobody}
candidate: agent:run
conditions:
  - id: twice
    fault: {name: tool_timout, bucket: ceiling}
  - id: twice
    fault: {name: latency, bucket: ceiling, params: {ms: soon}}
alpha: 1e-13
"""
    found = problems(tmp_path, text)
    assert [(where, path) for where, path, _ in found] == [
        ("arci.yaml:1", "experiment_id"),
        ("arci.yaml:4", "baseline.agent"),
        ("arci.yaml:6", "conditions"),
        ("arci.yaml:8", "conditions[0].fault.name"),
        ("arci.yaml:9", "conditions[1].id"),
        ("arci.yaml:10", "conditions[1].fault.params.ms"),
        ("arci.yaml:11", "alpha"),
    ]


def test_mistakes_of_syntax_keys_and_meaning_come_together(tmp_path: Path) -> None:
    text = MINIMAL + "alpha: 0.9\nalpha: 0.1\nn_per_am: 8\nconditions: [{id: a}, {id: a}]\n"
    assert [path for _, path, _ in problems(tmp_path, text)] == ["", "alpha", "n_per_am", "conditions[1].id"]


def test_a_problem_reads_file_line_path_value_allowed_hint(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, MINIMAL + "budgets: {max_second: 3}\n")
    assert str(caught.value) == (
        f"{tmp_path / 'arci.yaml'}:6: budgets.max_second: is not a known key; allowed: max_tool_calls, "
        "max_model_steps, max_seconds, grader_seconds, setup_seconds, tool_seconds, max_model_calls, max_tokens, "
        "max_usd. Hint: did you mean 'max_seconds'?"
    )


@pytest.mark.parametrize(
    ("line", "path", "words"),
    [
        ('n_per_arm: "8"', "n_per_arm", "not a whole number"),
        ("n_per_arm: 8.0", "n_per_arm", "not a whole number"),
        ("n_per_arm: true", "n_per_arm", "not a whole number"),
        ("n_per_arm: 0", "n_per_arm", "1 or more"),
        ("n_per_arm: 100001", "n_per_arm", "100000 or less"),
        ("alpha: 0.51", "alpha", "0.5 or less"),
        ("alpha: 0", "alpha", "more than 0"),
        ("alpha: .nan", "alpha", "finite"),
        ("alpha: NaN", "alpha", "finite"),
        ("delta: 1", "delta", "less than 1"),
        ("on_error: ignore", "on_error", "invalidate, worst_case"),
        ("interval_method: wald", "interval_method", "clopper_pearson"),
        ("isolation: podman", "isolation", "process, docker"),
        ("isolation: {memory: 12q}", "isolation.memory", "not a size"),
        ("isolation: {memory: 1.5}", "isolation.memory", "not a size"),
        ("isolation: {memory: 2m}", "isolation.memory", "16m or more"),
        ("isolation: {read_only: yes}", "isolation.read_only", "true or false"),
        ("isolation: {platform: linux}", "isolation.platform", "os/architecture"),
        ("isolation: {caps: [NET_ADMIN]}", "isolation.caps[0]", "cannot be added back"),
        ("task: [1]", "task", "a mapping is required"),
        ("tasks: []", "tasks", "at least 1"),
        ("tasks: 3", "tasks", "JSONL"),
        ("tasks: [{id: a}, {id: a}]", "tasks[1].id", "ids must differ"),
        ("task_file: nowhere.json", "", "No such file"),
        ("task_file: /etc/hosts", "task_file", "one machine"),
        ("evidence: [../secret]", "evidence[0]", "leaves the agent's workdir"),
        ("evidence: [/etc/passwd]", "evidence[0]", "one machine"),
        ("evidence: [a.txt, a.txt]", "evidence[1]", "twice"),
        ('evidence: ["."]', "evidence[0]", "leaves the agent's workdir"),
        ("secrets: [1X]", "secrets[0]", "a variable's name"),
        ("grader: {command: {argv: [judge]}}", "grader.command", "exactly one judge"),
        ("contract: {max_tool_calls: 3}", "oracle", "stands beside contract"),
        ("images: {agent: {image: a, build: {}}}", "images.agent", "exactly one"),
        ("images: {agent: {}}", "images.agent", "exactly one"),
        ("images: {agent: {build: {context: nowhere}}}", "images.agent.build.context", "not a directory"),
        ("images: {agent: {build: {dockerfile: D}}}", "images.agent.build.dockerfile", "not a file"),
        ("images: {agent: {build: {contxt: .}}}", "images.agent.build.contxt", "not a known key"),
        ("images: {agent: {image: --privileged}}", "images.agent.image", "not an image reference"),
        ("conditions: []", "conditions", "at least 1"),
        ("conditions: [{id: a, fault: {name: tool_timeout, bucket: ceiling}}]", "conditions", "no condition gates"),
        ("conditions: [{id: a, fault: {name: latency, bucket: benign}}]", "conditions[0]", "no clean condition"),
        ("conditions: [{id: Slow}, {id: slow}]", "conditions[1].id", "ids must differ"),
        ("conditions: [{id: 'a:b'}]", "conditions[0].id", "letters"),
        ("conditions: [{id: a, fault: {name: noop}, faults: []}]", "conditions[0].faults", "exactly one"),
        ("conditions: [{id: a, fault: {name: x.y:1}}]", "conditions[0].fault.name", "module:function"),
        ("conditions: [{id: a, fault: {}}]", "conditions[0].fault.name", "is missing"),
        ("conditions: [{id: a, fault: {name: noop, occurrence: -1}}]", "conditions[0].fault.occurrence", "0 or more"),
        ("conditions: [{id: a, fault: {name: noop, occurrence: never}}]", "conditions[0].fault.occurrence", "every"),
        ("conditions: [{id: a, fault: {name: noop, probability: 0}}]", "conditions[0].fault.probability", "more than"),
        (
            "conditions: [{id: a, faults: [{name: noop, params: {a: 1}}]}]",
            "conditions[0].faults[0].params.a",
            "unknown",
        ),
    ],
)
def test_one_mistake_is_one_problem_at_its_path(tmp_path: Path, line: str, path: str, words: str) -> None:
    _, found, message = only(tmp_path, MINIMAL + line + "\n")
    assert found == path
    assert words in message


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("interval_method: newcombe", "interval_method"),
        ("looks: [100, 200]", "looks"),
    ],
)
def test_what_comes_later_is_refused_in_one_line(tmp_path: Path, line: str, path: str) -> None:
    where, found, message = only(tmp_path, MINIMAL + line + "\n")
    assert (where, found) == ("arci.yaml:6", path)
    assert "not available yet in this version" in message


def test_an_arm_of_a_revision_comes_later_and_is_refused_in_one_line(tmp_path: Path) -> None:
    _, path, message = only(tmp_path, MINIMAL.replace("old.agent:run", "{ref: main, agent: 'a:b'}"))
    assert path.startswith("baseline.")
    assert "not available yet in this version" in message


@pytest.mark.parametrize("key", ["decisions", "models", "mcp_server", "mcp_servers", "task_file", "contract"])
def test_null_is_the_same_as_leaving_a_key_out(tmp_path: Path, key: str) -> None:
    assert load(tmp_path, f"{MINIMAL}{key}: null\n").document == load(tmp_path, MINIMAL).document


@pytest.mark.parametrize("key", ["experiment_id", "toolset", "oracle", "baseline", "candidate"])
def test_a_required_key_that_is_missing_is_named(tmp_path: Path, key: str) -> None:
    text = "".join(line for line in MINIMAL.splitlines(keepends=True) if not line.startswith(f"{key}:"))
    _, path, message = only(tmp_path, text)
    assert path == key
    assert "is missing" in message


@pytest.mark.parametrize(
    "reference", ["agent", "a:b:c", ":run", "a:", "a b:run", "a..b:run", "a:class", "a/b:run", "1a:b"]
)
def test_a_reference_is_a_module_and_a_function(tmp_path: Path, reference: str) -> None:
    _, path, message = only(tmp_path, MINIMAL.replace("old.agent:run", f'"{reference}"'))
    assert path == "baseline"
    assert "module:function" in message


@pytest.mark.parametrize("name", ["a" * 201, "-a", ".a", "a/b", "a b", "é", "..", "a\\\\b"])
def test_an_experiment_id_must_be_a_safe_file_name(tmp_path: Path, name: str) -> None:
    assert only(tmp_path, MINIMAL.replace("small", f'"{name}"'))[1] == "experiment_id"


def test_alpha_may_not_be_smaller_than_its_tails_can_be_computed(tmp_path: Path) -> None:
    many = "conditions: [" + ", ".join(f"{{id: c{n}}}" for n in range(250)) + "]\n"
    load(tmp_path, MINIMAL + many + "alpha: 1.1e-9\n")
    _, path, message = only(tmp_path, MINIMAL + many + "alpha: 0.9e-9\n")
    assert path == "alpha"
    assert "250 gating conditions; 1e-09 or more" in message


def test_conditions_that_do_not_gate_do_not_count_against_alpha(tmp_path: Path) -> None:
    ceiling = ", ".join(f"{{id: c{n}, fault: {{name: noop, bucket: ceiling}}}}" for n in range(250))
    load(tmp_path, MINIMAL + f"conditions: [{{id: clean}}, {ceiling}]\nalpha: 1e-11\n")


def test_a_secret_is_named_and_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "hidden-value")
    arm = "{agent: 'a:b', env: {API_KEY: '${KEY}', MODE: fast}}"
    document = load(tmp_path, MINIMAL.replace("old.agent:run", arm) + "secrets: [KEY]\n").document
    assert document["arms"]["baseline"]["env"] == {"MODE": "fast"}
    assert document["arms"]["baseline"]["secret_env"] == {"API_KEY": "KEY"}
    assert "hidden-value" not in json.dumps(document)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("{A: '${OTHER}'}", "not declared"),
        ("{A: 'Bearer ${KEY}'}", "within other text"),
        ("{A: '${not-a-name}'}", "within other text"),
        ("{ARCI_SEED: '1'}", "ARCI's own"),
        ("{A: 1}", "not text"),
        ("{A-B: x}", "a variable's name"),
    ],
)
def test_an_environment_that_cannot_be_given_is_refused(tmp_path: Path, env: str, words: str) -> None:
    arm = f"{{agent: 'a:b', env: {env}}}"
    _, path, message = only(tmp_path, MINIMAL.replace("old.agent:run", arm) + "secrets: [KEY]\n")
    assert path.startswith("baseline.env.")
    assert words in message


def test_contract_rules_that_could_never_bite_or_hold_are_refused(tmp_path: Path) -> None:
    contract = (
        "contract: {oracle: 'j:c', forbidden_tools: [drop], required_tools: [drop, read], "
        "max_calls_per_tool: {read: 0}, hard: [max_tool_calls, forbidden_tools, speed]}\n"
    )
    found = problems(tmp_path, MINIMAL.replace("oracle: judge:check\n", contract))
    assert [path for _, path, _ in found] == [
        "contract.hard[2]",
        "contract.required_tools[0]",
        "contract.required_tools[1]",
        "contract.hard[0]",
    ]


def test_a_command_grader_needs_no_oracle(tmp_path: Path) -> None:
    text = MINIMAL.replace("oracle: judge:check", "grader: {command: {argv: [node, judge.js]}}")
    assert load(tmp_path, text).document["grader"] == {"kind": "command", "ref": None, "argv": ["node", "judge.js"]}


def test_fault_defaults_and_params_are_written_out(tmp_path: Path) -> None:
    text = MINIMAL + (
        "conditions:\n"
        "  - id: a\n"
        "    faults:\n"
        "      - {name: tool_timeout, tool: reserve, occurrence: every}\n"
        "      - {name: latency, occurrence: {from: 2}, params: {ms: 5}, bucket: ceiling}\n"
        "      - {name: 'mine.faults:slow', probability: 0.5, params: {any: [1]}}\n"
    )
    (condition,) = load(tmp_path, text.replace("id: a", "id: a\n    fault: null") + "  - id: b\n").document[
        "conditions"
    ][:1]
    assert (condition["bucket"], condition["is_gating"]) == ("ceiling", False)
    first, second, third = condition["faults"]
    assert first == {
        "name": "tool_timeout",
        "bucket": "falsify",
        "tool": "reserve",
        "occurrence": {"kind": "every", "n": 0},
        "probability": 1.0,
        "min_injections": 1,
        "params": {"after_ms": 0},
    }
    assert (second["occurrence"], second["params"]["ms"]) == ({"kind": "from", "n": 2}, 5)
    assert third["params"] == {"any": [1]}


@pytest.mark.parametrize(
    ("text", "size"), [("512m", 512 << 20), ("2G", 2 << 30), ("65536k", 64 << 20), ("1gib", 1 << 30)]
)
def test_sizes_become_bytes(tmp_path: Path, text: str, size: int) -> None:
    document = load(tmp_path, f"{MINIMAL}isolation: {{memory: {text}}}\n").document
    assert document["isolation"]["memory_bytes"] == size


def test_the_command_line_is_applied_before_anything_is_checked(tmp_path: Path) -> None:
    text = MINIMAL + "n_per_arm: 7\nisolation: {backend: process, pids: 99}\n"
    descriptor = load(tmp_path, text, backend="docker", n_per_arm=8)
    assert descriptor.backend == "docker"
    assert descriptor.document["isolation"]["pids"] == 99
    assert descriptor.document["n_per_arm"] == 8


@pytest.mark.parametrize("value", ['"50"', "5.5", "0", "[1]"])
def test_a_wrong_value_is_told_although_the_command_line_says_otherwise(value: str, tmp_path: Path) -> None:
    text = f"{MINIMAL}n_per_arm: {value}\n"
    assert only(tmp_path, text, n_per_arm=8) == only(tmp_path, text)
    assert only(tmp_path, text, n_per_arm=8)[0] == "arci.yaml:6"


@pytest.mark.parametrize("value", ["podman", "{backend: podman}", "{pids: many}"])
def test_a_wrong_place_is_told_although_the_command_line_says_otherwise(value: str, tmp_path: Path) -> None:
    text = f"{MINIMAL}isolation: {value}\n"
    assert only(tmp_path, text, backend="process") == only(tmp_path, text)


def test_of_the_unknown_keys_of_a_mapping_the_first_lists_what_is_allowed(tmp_path: Path) -> None:
    text = f"{MINIMAL}one: 1\nalph: 2\nbudgets: {{max_second: 1, foo: 2}}\n"
    told = {path: message for _, path, message in problems(tmp_path, text)}
    assert told["one"].startswith("is not a known key; allowed: experiment_id, ")
    assert told["alph"] == told["budgets.foo"] == "is not a known key either."
    assert told["budgets.max_second"].startswith("is not a known key; allowed: max_tool_calls, ")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("arci.run/9", "what arci run keeps of a run"),
        ("arci.decision/1", "the decision of a run"),
        ("arci.bundle/1", "what is inside a bundle"),
        ("arci.signature/1", "the signature of a run"),
    ],
)
def test_a_document_of_arci_that_is_no_descriptor_is_told_in_one_line(form: str, words: str, tmp_path: Path) -> None:
    where, path, message = only(tmp_path, json.dumps({"format": form, "experiment_id": "x", "state": 1, "a": 2}))
    assert (where, path) == ("arci.yaml", "")
    assert message == f"is no descriptor but {words} (format '{form}')."


def test_a_wrong_value_from_the_command_line_is_not_blamed_on_a_line(tmp_path: Path) -> None:
    assert only(tmp_path, MINIMAL, n_per_arm=0)[:2] == ("command line", "n_per_arm")
    assert only(tmp_path, MINIMAL, backend="podman")[:2] == ("command line", "isolation")


def test_tasks_may_be_a_list_or_lines_of_a_file_with_the_same_meaning(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "one", "task": {"n": 1}}\n\n{"id": "two"}\r\n')
    listed = load(tmp_path, MINIMAL + "tasks: [{id: one, task: {n: 1}}, {id: two}]\n")
    assert load(tmp_path, MINIMAL + "tasks: tasks.jsonl\n").document == listed.document


def test_every_wrong_line_of_a_task_file_is_told(tmp_path: Path) -> None:
    lines = [
        '{"id": "a"}',
        "nonsense",
        '{"id": "a"}',
        '{"id": 3}',
        '{"id": "b", "tsk": {}}',
        '{"id": "c", "task": NaN}',
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = problems(tmp_path, MINIMAL + "tasks: tasks.jsonl\n")
    assert [where for where, _, _ in found] == [f"tasks.jsonl:{n}" for n in (2, 3, 4, 5, 6)]


@pytest.mark.parametrize(("name", "content"), [("t.json", '{"n": [1]}'), ("t.yaml", "n: [1]\n")])
def test_a_task_may_stand_in_a_file(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    document = load(tmp_path, MINIMAL + f"task_id: one\ntask_file: {name}\n").document
    assert document["tasks"] == [{"id": "one", "task": {"n": [1]}}]


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": 1, "a": 2}', '{"a": 1e999}', "[" * 200_000, '{"a": "\\ud800"}'])
def test_a_task_file_that_is_no_clean_object_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "t.json").write_text(content, encoding="utf-8")
    assert only(tmp_path, MINIMAL + "task_file: t.json\n")[0] == "t.json"


@pytest.mark.parametrize("name", ["nowhere.yaml", ".", "nul\0byte"])
def test_a_file_that_cannot_be_read_is_a_problem_and_no_traceback(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError):
        load_descriptor(tmp_path / name)


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "3\n", "null\n"])
def test_anything_but_a_mapping_is_refused(tmp_path: Path, text: str) -> None:
    assert "not a mapping" in only(tmp_path, text)[2]


def test_designs_that_cannot_decide_are_warned_of(tmp_path: Path) -> None:
    assert not [w for w in load(tmp_path, MINIMAL, n_per_arm=42).warnings if "can never" in w]
    assert [w for w in load(tmp_path, MINIMAL, n_per_arm=41).warnings if "can never PASS" in w and "42" in w]
    assert not [w for w in load(tmp_path, MINIMAL, n_per_arm=8).warnings if "can never BLOCK" in w]
    assert [w for w in load(tmp_path, MINIMAL, n_per_arm=7).warnings if "can never BLOCK" in w and "8" in w]


def test_the_schema_knows_the_keys_and_forbids_others() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert {"experiment_id", "baseline", "conditions", "isolation"} <= schema["properties"].keys()
    assert sorted(schema["required"]) == ["baseline", "candidate", "experiment_id"]
    assert "from" in schema["$defs"]["FromShape"]["properties"]
    json.dumps(schema, allow_nan=False)


def test_a_problem_is_one_line_whatever_the_file_holds(tmp_path: Path) -> None:
    text = MINIMAL + r'"al\npha\u2028": "x"' + "\n" + r'delta: ["\x7f"]' + "\n"
    with pytest.raises(SpecError) as caught:
        load(tmp_path, text)
    assert [str(problem).isprintable() for problem in caught.value.problems] == [True, True]
