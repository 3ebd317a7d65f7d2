"""A headless Chromium, the pages of real runs, and an eye on everything that a page tries to do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, recorded
from playwright.sync_api import Browser, Dialog, Request, Route, sync_playwright
from watching import DESK, Watched

SCRIPT = EXAMPLES.parent / "scripts" / "chromium.sh"


def _chromium() -> str:
    """Its path, or the failure that says how to get one: without a browser these tests would show nothing."""
    done = subprocess.run(["sh", str(SCRIPT)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(done.stderr, pytrace=False)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while it lives, an event loop runs in this thread, and tests that start one cannot."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium())
        yield browser
        browser.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    """A page that has opened nothing yet. Whatever leaves the machine would be seen, and goes nowhere."""
    context = browser.new_context(viewport={"width": DESK, "height": 900}, color_scheme="light")
    context.set_default_timeout(120_000)
    watching = Watched(context.new_page())

    def refuse(route: Route, request: Request) -> None:
        if request.is_navigation_request() and request.url.startswith("file:"):
            route.continue_()
        else:
            watching.requests.append(request.url)
            route.abort()

    context.route("**/*", refuse)
    watching.page.on("console", lambda message: watching.said.append(message.text))
    watching.page.on("pageerror", lambda error: watching.said.append(str(error)))

    def dismiss(dialog: Dialog) -> None:
        watching.dialogs.append(dialog.message)
        dialog.dismiss()

    watching.page.on("dialog", dismiss)
    yield watching
    context.close()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Agent A against agent B, 40 trials each, made with processes."""
    _, directory = recorded(tmp_path_factory, "retry_agent/a-vs-b.yaml", "process", 40)
    return directory


@pytest.fixture(scope="session")
def report(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page, as the command writes it."""
    return written(run, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a BLOCK with a condition that gates and one that does not."""
    place = tmp_path_factory.mktemp("long") / "project"
    shutil.copytree(EXAMPLES / "retry_agent", place, ignore=shutil.ignore_patterns("runs"))
    descriptor = (place / "a-vs-b.yaml").read_text(encoding="utf-8")
    hopeless = "  - id: hopeless\n    fault: {name: tool_timeout, tool: reserve, occurrence: every, bucket: ceiling}\n"
    (place / "long.yaml").write_text(descriptor.replace("conditions:\n", f"conditions:\n{hopeless}"), encoding="utf-8")
    ended = arci("run", place / "long.yaml", "--n", 60, "--out", place / "runs", "--json")
    assert ended.exit_code == 1, ended.stderr
    return written(ended.run, place / "report.html")


def written(run: Path, out: Path) -> Path:
    ended = arci("report", run, "--format", "html", "--out", out)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    return out


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run whose agents, world and oracle say everything that could break a page."""
    place = tmp_path_factory.mktemp("hostile") / "project"
    shutil.copytree(Path(__file__).parent / "hostile", place)
    ended = arci("run", place / "arci.yaml", "--out", place / "runs", "--json")
    assert ended.stdout, ended.stderr
    return written(ended.run, place / "report.html")
