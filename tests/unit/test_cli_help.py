"""The command line itself: what it lists, what it costs to ask, and how wrong calls end."""

from __future__ import annotations

import subprocess
import sys

import jsonschema
import pytest
import yaml
from e2e import EXAMPLES, arci, call

from arci import __version__

COMMANDS = (
    "init",
    "tools",
    "try",
    "doctor",
    "run",
    "seal",
    "schema",
    "gate",
    "report",
    "show",
    "logs",
    "images",
    "clean",
)


def test_help_lists_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "--help")
    assert shown.exit_code == 0
    for name in COMMANDS:
        line = next(line for line in shown.stdout.splitlines() if line.split()[:1] == [name])
        assert line.endswith(".")
        assert len(line.split()) > 3


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(call(capsys, "--help").stdout.split())
    for text in ("0 PASS", "1 BLOCK", "2 INCONCLUSIVE", "3 ERROR", "64 usage", "69 no engine"):
        assert text in shown


@pytest.mark.parametrize("args", [("--help",), ("run", "--help"), ("--version",)])
def test_help_imports_nothing_heavy(args: tuple[str, ...]) -> None:
    program = (
        "import sys\n"
        "from arci.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {"click", "arci"} <= loaded
    assert not loaded & {"anyio", "docker", "pydantic", "requests", "rich", "scipy", "yaml"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, name, "--help")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert f"Usage: arci {name}" in shown.stdout


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version").stdout == f"arci, version {__version__}\n"


@pytest.mark.parametrize(
    "args",
    [
        ("nonsense",),
        ("run", "--nonsense"),
        ("run", "a.yaml", "b.yaml"),
        ("run", "--n", "0"),
        ("run", "--n", "many"),
        ("run", "--workers", "0"),
        ("run", "--isolation", "vm"),
        ("seal", "arci.yaml"),
        ("show", "runs/x"),
        ("report", "runs/x", "--format", "pdf"),
        ("logs", "runs/x", "clean:00000:baseline", "--role", "nobody"),
        ("images", "nonsense"),
        ("init",),
        ("try", "--arm", "both"),
        ("try", "--index", "-1"),
        ("doctor", "--isolation", "vm"),
    ],
)
def test_a_wrong_call_ends_with_64_and_says_why_on_stderr(
    args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, *args)
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert "Error: " in ended.stderr


def test_an_unknown_command_is_answered_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "rum").stderr
    assert "'rum'" in said
    assert set(COMMANDS) <= set(said.partition("Commands: ")[2].replace(".", "").replace(",", "").split())


def test_the_program_ends_with_the_code_of_its_command() -> None:
    assert arci("rum").exit_code == 64
    assert arci("--version").exit_code == 0


def test_the_schema_is_a_json_schema_that_every_example_fulfils(capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "schema")
    assert (ended.exit_code, ended.stderr) == (0, "")
    checker = jsonschema.validators.validator_for(ended.json)
    checker.check_schema(ended.json)
    examples = sorted(EXAMPLES.glob("*/*.yaml"))
    assert len(examples) >= 4
    for path in examples:
        checker(ended.json).validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_schema_refuses_an_unknown_key(capsys: pytest.CaptureFixture[str]) -> None:
    schema = call(capsys, "schema").json
    document = yaml.safe_load((EXAMPLES / "retry_agent" / "a-vs-b.yaml").read_text(encoding="utf-8"))
    with pytest.raises(jsonschema.ValidationError, match="dela"):
        jsonschema.validate({**document, "dela": 0.2}, schema)
