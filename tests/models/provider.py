"""A provider of models on this machine: the `llmock` package from PyPI, a server that speaks the protocols of OpenAI
and Anthropic, in an environment of its own so that its dependencies meet none of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ports import free_port

__all__ = ["ANSWER", "CALL", "DIMENSIONS", "MODEL", "PACKAGE", "Provider", "provider"]

PACKAGE = "llmock==0.2.2"
MODEL = "mock-1"
ANSWER = f"Mock response from {MODEL}."
"""What it says to everything; a tool that it is offered it calls first, once."""
CALL = {"item": "mock-item"}
"""The arguments that it makes up for a tool with the parameter `item`."""
DIMENSIONS = 1536

HOME = Path(__file__).parents[2] / "build" / "provider"
_STARTS_S = 180.0
_ANSWERS_S = 60.0


@dataclass(frozen=True)
class Provider:
    port: int

    def base_url(self, kind: str) -> str:
        """Of `openai` or `anthropic`, as a descriptor has it."""
        return f"http://127.0.0.1:{self.port}/{'v1' if kind == 'openai' else 'anthropic'}"

    def calls(self) -> int:
        """Requests that reached it, by its own count."""
        return int(self._get("/_llmock/requests")["count"])

    def is_up(self) -> bool:
        try:
            self._get("/health")
        except OSError:
            return False
        return True

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=_ANSWERS_S) as answer:
            return json.load(answer)


@contextmanager
def provider(latency_ms: int = 0) -> Iterator[Provider]:
    """A fresh one, up. `latency_ms`: before every answer."""
    found = Provider(free_port())
    options = ("--port", str(found.port), "--response-style", "static", "--latency-ms", str(latency_ms))
    with subprocess.Popen(
        [str(installed()), "serve", *options, "--log-level", "error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_until_up(found, process)
            yield found
        finally:
            process.terminate()


def installed() -> Path:
    """Its program; installed below `build/` by the first who asks."""
    home = HOME / PACKAGE
    program = home / "bin" / "llmock"
    if not (home / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, PACKAGE], check=True, capture_output=True)
        (home / "complete").touch()
    return program


def _wait_until_up(found: Provider, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _STARTS_S
    while not found.is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{PACKAGE} does not come up on port {found.port}")
        time.sleep(0.05)
