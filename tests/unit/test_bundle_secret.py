"""A secret that an agent told in every way is in no bundle of its failure, and in nothing that is said of one."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest
import zstandard
from e2e import arci, records
from secret import NAME, SECRET, telltale

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

FORMS = (SECRET[4:-4], quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode().rstrip("="))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an agent that crashed with the secret in its message."""
    directory = tmp_path_factory.mktemp("secret")
    path = telltale(directory, "process")
    document = json.loads(path.read_text())
    document["tasks"][0]["task"]["crash"] = True
    path.write_text(json.dumps(document))
    run = arci("run", path, "--out", directory / "runs", "--json", env={NAME: SECRET}).run
    trial = next(trial for trial, record in records(run).items() if record["outcome"] == "FAIL")
    out = directory / "failure.arci"
    made = arci("bundle", run, trial, "--out", out, env={NAME: SECRET})
    assert made.exit_code == 0, made.stderr
    assert not any(form in made.stdout + made.stderr for form in FORMS)
    return out


def contents(bundle: Path) -> dict[str, bytes]:
    """Member -> its bytes, unpacked."""
    found = {}
    with tarfile.open(bundle) as tar:
        for member in tar:
            file = tar.extractfile(member)
            assert file is not None
            data = file.read()
            if member.name.endswith(".zst"):
                data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
            found[member.name] = data
    return found


@pytest.mark.parametrize("form", FORMS)
def test_no_member_of_a_bundle_has_it(form: str, bundle: Path) -> None:
    members = contents(bundle)
    assert any(f"<secret:{NAME}>".encode() in data for data in members.values())
    assert any(b"def open_world" in data for data in members.values()), "sources were looked into"
    assert [name for name, data in members.items() if form.encode() in data] == []


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_replay_of_the_bundle_has_the_name_in_its_place_and_does_not_tell_it(
    words: tuple[str, ...], bundle: Path
) -> None:
    """The agent is given the name, not this host's value; so one that encodes it asks for what was not recorded."""
    replayed = arci("replay", bundle, *words, env={NAME: SECRET})
    told = replayed.stdout + replayed.stderr
    assert (replayed.exit_code, quote(f"<secret:{NAME}>", safe="") in told) == (3, True), told
    assert not any(form in told for form in FORMS)
