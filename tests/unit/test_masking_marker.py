"""A marker that an agent and its tools tell in every form: in nothing that is kept, printed, raised or told live."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from e2e import Finished, arci, descriptor, project, records

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

NAME, MARK = "ARCI_TEST_MARKER", "mark7f3a91c2"
SECRET = f"{MARK}/+ \"q' \\k&<ü>={MARK}"
_WORLD = """
    class World:
        def __init__(self):
            self.told = []
            self.tools = {"tell": self.tell}

        def tell(self, text: str) -> str:
            self.told.append(text)
            print("heard", text)
            if "raise" in text:
                raise RuntimeError("cannot keep " + text)
            return text

        def snapshot(self):
            return {"told": self.told, **{text: len(text) for text in self.told}}


    def open_world(task, seed):
        return World()


    def judge(task, final_state, evidence):
        print("the claim is", evidence["claim"])
        return len(final_state["told"]) >= 10
"""
_AGENT = """
    import base64, html, json, os, shlex, sys, textwrap, urllib.parse
    from arci.agent import ToolFault

    token = os.environ["TOKEN"]
    data = token.encode()
    forms = [
        token, base64.b64encode(data).decode(), base64.urlsafe_b64encode(b"a:" + data).decode().rstrip("="),
        base64.encodebytes(data * 4).decode(), "\\r\\n".join(textwrap.wrap(base64.b64encode(data * 3).decode(), 64)),
        data.hex(), data.hex().upper(), urllib.parse.quote(token), urllib.parse.quote(token, safe="").lower(),
        json.dumps(token), json.dumps({"a": json.dumps([token], ensure_ascii=False)}), shlex.quote(token),
        html.escape(token), repr(token), repr(data),
    ]
    if os.environ.get("FAILS"):
        raise RuntimeError("cannot be imported with " + " ".join(forms))


    def run(task, tools, rng):
        for form in [*forms, "raise " + token]:
            try:
                tools.call("tell", text=form)
            except ToolFault as fault:
                print(fault)
        tools.note_model_step("used " + token, forms=forms)
        for stream in (sys.stdout, sys.stderr):
            print(*forms, sep="|", file=stream)
            for form in forms:  # in pieces, as programs flush them
                for at in range(0, len(form), 7):
                    stream.write(form[at:at + 7])
                    stream.flush()
                print(file=stream)
        if task["crash"]:
            raise RuntimeError("no use for " + " ".join(forms))
        return {"forms": forms, token: {"is": token}}
"""
_TELLTALES = [MARK, MARK.encode().hex(), MARK.encode().hex().upper()]
_TELLTALES += [base64.b64encode(b"\0" * n + MARK.encode()).decode()[4:12] for n in range(3)]


def tells(text: str) -> list[str]:
    """Which pieces of the marker can be read, however a text is wrapped."""
    dense = "".join(text.replace("\\n", "").replace("\\r", "").split())
    return [piece for piece in _TELLTALES if piece in dense]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("marker")
    arm = {"agent": "agent:run", "context": "agents", "env": {"TOKEN": f"${{{NAME}}}"}}
    document = {
        "experiment_id": "marker",
        "tasks": [{"id": str(crash), "task": {"crash": crash}} for crash in (False, True)],
        "toolset": "world:open_world",
        "contract": {"oracle": "world:judge"},
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "images": {"project": {"build": {"context": "world"}}},
        "secrets": [NAME],
        "n_per_arm": 2,
        "budgets": {"max_tool_calls": 40},
        "isolation": "process",
    }
    files = {"world/world.py": _WORLD, "agents/agent.py": _AGENT}
    broken = json.loads(json.dumps(document))
    broken["candidate"]["env"]["FAILS"] = "1"
    descriptor(project(directory, files), broken, "broken.yaml")
    return descriptor(directory, document)


@pytest.fixture(scope="module")
def ended(experiment: Path) -> Finished:
    return arci("run", experiment, "--out", experiment.parent / "runs", "--json", env={NAME: SECRET})


def test_the_forms_tell_the_marker_where_nothing_masks_them() -> None:
    assert tells(SECRET)
    assert tells(base64.encodebytes(SECRET.encode() * 4).decode())
    assert tells(quote(SECRET))
    assert tells(SECRET.encode().hex())


def test_no_file_of_the_run_tells_it(ended: Finished) -> None:
    made = records(ended.run)
    assert {record["outcome"] for record in made.values()} == {"PASS", "FAIL"}
    files = [path for path in ended.run.rglob("*") if path.is_file()]
    assert len([path for path in files if path.parent.name == "logs"]) >= 8
    assert [path.name for path in files if tells(path.read_bytes().decode("utf-8", "replace"))] == []
    kept = (ended.run / "trials.jsonl").read_text() + (ended.run / "events.jsonl").read_text()
    assert kept.count(f"<secret:{NAME}>") > 40


def test_nothing_that_is_printed_about_the_run_tells_it(ended: Finished) -> None:
    trial = next(trial for trial, record in records(ended.run).items() if record["outcome"] == "FAIL")
    told = [ended.stdout + ended.stderr]
    for command in (("report",), ("report", "--format", "html"), ("triage",)):
        shown = arci(command[0], ended.run, *command[1:])
        told.append(shown.stdout + shown.stderr)
    for command in (("show",), ("logs",)):
        shown = arci(command[0], ended.run, trial)
        told.append(shown.stdout + shown.stderr)
    assert [text[:100] for text in told if tells(text)] == []


@pytest.mark.parametrize("more", [(), ("--json",), ("--index", "1")])
def test_trying_a_trial_tells_it_neither_live_nor_in_the_end(more: tuple[str, ...], experiment: Path) -> None:
    tried = arci("try", experiment, *more, env={NAME: SECRET})
    assert tried.exit_code == 0, tried.stderr
    assert f"<secret:{NAME}>" in tried.stdout
    assert "heard" in tried.stderr
    assert tells(tried.stdout) == []
    assert tells(tried.stderr) == []


def test_an_agent_that_cannot_be_imported_does_not_tell_it_in_the_error(experiment: Path) -> None:
    refused = arci("run", experiment.parent / "broken.yaml", "--out", experiment.parent / "none", env={NAME: SECRET})
    assert refused.exit_code == 64
    assert "cannot be imported with" in refused.stderr
    assert f"<secret:{NAME}>" in refused.stderr
    assert tells(refused.stdout + refused.stderr) == []
