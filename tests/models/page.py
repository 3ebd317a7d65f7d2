"""What came of it as tables: for a terminal, and as the reference page `docs/reference/models.md`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.experiment import Trial
from models.provider import ANSWER, PACKAGE
from models.table import CLIENTS, FAULTS, MODES, NODE, Client

__all__ = ["behaviour", "markdown", "paths", "text"]

INTRODUCTION = f"""\
<!-- Made by `make models`; edit tests/models/page.py, or what it reads. -->
# Models, and what packages do when one fails

Packages that call models, unmodified, as their registries have them. Each is a
[command agent](descriptor.md#an-arm) in a container of its own, which has no network: what it asks at the address that
it is given (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`) goes through the boundary to the host, and from there to a server
on this machine that speaks the protocols of OpenAI and Anthropic ([{PACKAGE.partition("=")[0]}](https://pypi.org/project/{PACKAGE.partition("=")[0]}/)).
`make models` builds the images, runs all of it on your engine and writes this page. All sessions, and one package under
every fault, also run in `make test`; there each session is then [replayed](../how-to/bundle-and-replay.md) from its
record alone, with that server stopped and without any network. Packages of npm run on Node {NODE}.
"""

USAGE = """\
The last column names what is asked of the model in streams whose answers tell no usage (tokens), because the package
does not ask for it: a stream of chat completions has it only where the request says
`"stream_options": {"include_usage": true}`. Budgets then
[count by length](descriptor.md#what-a-call-takes-from-the-budgets).
"""

FAULTED = """\
Every call of the model meets the [fault](faults.md), and the package is asked for one answer, whole or streamed. Its
time limit is set to two seconds; what it does of itself is left as it is. `3 calls` are a first call and two more that
the package made by itself; what follows is what the program gets in the end: an error of that name, or an answer.
**No error** marks the cases in which a program that does not look cannot know that something went wrong.
"""


def behaviour(trial: Trial) -> str:
    """What the package did, in a few words."""
    if trial.outcome == "ERROR" or not trial.seen:
        return "NO RESULT"
    calls = "1 call" if trial.calls == 1 else f"{trial.calls} calls"
    return f"{calls}, {_end(trial)}"


def _end(trial: Trial) -> str:
    if trial.seen["error"]:
        return f"`{trial.seen['error']}`"
    if trial.seen["text"] == ANSWER:
        return "the answer"
    return "**no error**, part of the answer" if trial.seen["text"] else "**no error**, an empty answer"


def text(sessions: Iterable[Trial], faulted: Iterable[Trial]) -> str:
    """One line per trial, and below the sessions that failed what went wrong."""
    trials = list(sessions)
    lines = [f"{trial.client.id:18}{trial.mode:8}{trial.outcome}" for trial in trials]
    lines += [f"{t.client.id:18}{t.mode:8}{t.condition:24}{behaviour(t)}" for t in faulted]
    bad = [f"\n{t.client.id} {t.mode}: {t.detail}" for t in trials if t.outcome != "PASS"]
    return "\n".join([*lines, *bad])


def markdown(sessions: Iterable[Trial], faulted: Iterable[Trial]) -> str:
    """The whole reference page."""
    trials = list(sessions)
    passed = {(trial.client.id, trial.mode): trial.outcome == "PASS" for trial in trials}
    heads = ("package", "version", "calls", *MODES.values(), "streams without usage")
    untold = {trial.client.id: trial.untold for trial in trials if trial.mode == "stream"}
    lines = [(*_session(client, passed), paths(untold.get(client.id, ()))) for client in CLIENTS]
    found = list(faulted)
    parts = [INTRODUCTION, "## Without a fault\n", _table(heads, lines), USAGE, "## Under faults\n", FAULTED]
    for client in CLIENTS:
        parts += [f"### {client.title} {client.version}\n", _faults(client, found)]
    return "\n".join(parts)


def _session(client: Client, passed: dict[tuple[str, str], bool]) -> tuple[str, ...]:
    marks = ("yes" if passed.get((client.id, mode)) else "NO" for mode in MODES.values())
    packages = ", ".join(f"`{package}`" for package in client.packages)
    return (client.title, packages, ", ".join(client.steps), *marks)


def paths(paths: Iterable[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths) or "none"


def _faults(client: Client, trials: list[Trial]) -> str:
    """A row per fault: how the package took it, asked for a whole answer and for a streamed one."""
    own = {(trial.condition, trial.mode): behaviour(trial) for trial in trials if trial.client == client}
    lines = [
        (f"`{fault.name}`", *(own.get((fault.name, mode), "NO RESULT") for mode in MODES.values())) for fault in FAULTS
    ]
    return _table(("fault", *(f"`{client.route}`, {mode}" for mode in MODES.values())), lines)


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rules = ["---"] * len(heads)
    return "".join(f"| {' | '.join(line)} |\n" for line in [heads, rules, *lines])
