"""A secret of the host on a real engine: the agent's container is given it, and nothing that is kept holds it."""

from __future__ import annotations

import base64
from pathlib import Path

from e2e import arci, records
from secret import NAME, SECRET, telltale


def test_a_secret_reaches_the_agent_and_nothing_that_is_kept(tmp_path: Path) -> None:
    ended = arci("run", telltale(tmp_path, "docker"), "--out", tmp_path / "runs", "--json", env={NAME: SECRET})
    assert {record["final_state"]["length"] for record in records(ended.run).values()} == {len(SECRET)}
    kept = b"".join(path.read_bytes() for path in ended.run.rglob("*") if path.is_file())
    for form in (SECRET, base64.b64encode(SECRET.encode()).decode().rstrip("=")):
        assert form.encode() not in kept
        assert form not in ended.stdout + ended.stderr
    assert f"<secret:{NAME}>".encode() in kept
