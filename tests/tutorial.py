"""The tutorial as it is typed: its sections, the lines of their shell blocks with the exit codes that they state."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docs_pages import blocks, page

__all__ = ["INSTALL", "IN_CONTAINERS", "SECTIONS", "Typist", "lines_of"]

PAGE = "docs/tutorial/from-nothing-to-a-replayed-failure.md"
_EXIT = re.compile(r"#\s*exit (\d+)$")


def _sections() -> dict[str, str]:
    """Heading -> what stands below it, in order."""
    _, *parts = re.split(r"^## ", page(PAGE), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


SECTIONS = _sections()
INSTALL = "1. Install"
IN_CONTAINERS = "8. The same in containers"


def lines_of(heading: str) -> list[str]:
    return [line for block in blocks(SECTIONS[heading], "sh") for line in block.text.splitlines()]


@dataclass
class Typist:
    """Types the lines of sections, one after the other, where the page says."""

    place: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def type(self, heading: str) -> str:
        """Everything that the section's lines wrote to stdout. AssertionError for another exit code than is stated, or
        a line of output that the page shows and nobody wrote."""
        output = "".join(self._line(line) for line in lines_of(heading))
        real = {line.rstrip() for line in output.splitlines()}
        for block in blocks(SECTIONS[heading], "text"):
            missing = [line for line in block.text.splitlines() if line.rstrip() not in real]
            assert not missing, f"{missing} in: {output}"
        return output

    def edit(self, heading: str) -> None:
        """Put the section's conditions in the place of the descriptor's."""
        (shown,) = [block.text for block in blocks(SECTIONS[heading], "yaml")]
        path = self.place / "arci.yaml"
        text = path.read_text(encoding="utf-8")
        before, rest = text[: text.index("conditions:")], text[text.index("n_per_arm:") :]
        path.write_text(f"{before}{shown}\n{rest}", encoding="utf-8")

    def _line(self, line: str) -> str:
        stated = _EXIT.search(line)
        if line.startswith("cd "):
            self.place = self.place / line.removeprefix("cd ")
            return ""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, **self.env}
        done = subprocess.run(["sh", "-c", line], cwd=self.place, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == (int(stated[1]) if stated else 0), f"{line}: {done.stdout}{done.stderr}"
        return done.stdout
