"""A signed run verifies; whatever is changed, added, taken away or signed by another is found and named."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from e2e import call
from runs import edit_info, edit_records, make_run, read_jsonl, write_records

from arci.errors import ArciError, StoreError, UsageError
from arci.model.canonical import canonical
from arci.sign.keys import allowed_signers, private_key, public_key
from arci.sign.sign import sign_run
from arci.sign.sshsig import fingerprint, public_line, sign, signer_of
from arci.sign.verify import Trusted, verify_run
from arci.store.reader import read_run
from arci.store.shards import Shard
from arci.store.writer import RunWriter

AT = "2026-01-02T03:04:05.000+00:00"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
PLAIN, PEM, OPENSSH = (
    serialization.NoEncryption(),
    serialization.PrivateFormat.PKCS8,
    serialization.PrivateFormat.OpenSSH,
)


def key_file(directory: Path, key: Ed25519PrivateKey = KEY, name: str = "key") -> Path:
    path = directory / name
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, OPENSSH, PLAIN))
    path.chmod(0o600)
    return path


def public_file(directory: Path, key: Ed25519PrivateKey = KEY, name: str = "key.pub") -> Path:
    path = directory / name
    path.write_text(f"{public_line(key.public_key())} someone@somewhere\n")
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = make_run(tmp_path / "runs", outcomes={"baseline": "PPF", "candidate": "PFF"})
    sign_run(store, key_file(tmp_path), env={}, at=AT)
    return store


def problems(store: Path) -> str:
    return "\n".join(verify_run(store, Trusted(KEY.public_key())).problems)


def test_a_signed_run_holds(store: Path) -> None:
    found = verify_run(store, Trusted(KEY.public_key()))
    assert found.problems == ()
    assert found.fingerprint == fingerprint(KEY.public_key())
    assert (found.statement["records"], found.statement["signed_at"]) == (6, AT)
    assert found.statement["verdict"] == json.loads((store / "decision.json").read_bytes())["verdict"]
    assert {"manifest.json", "events.jsonl", "trials.jsonl", "run.json", "decision.json"} < set(
        found.statement["files"]
    )


def test_gating_and_reading_a_signed_run_change_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "gate", store).exit_code == 2
    assert call(capsys, "report", store).exit_code == 0
    assert problems(store) == ""


def test_every_file_that_is_changed_cut_or_removed_is_named(store: Path) -> None:
    signed = verify_run(store, Trusted()).statement["files"]
    for name in signed:
        path = store / name
        raw = path.read_bytes()
        for changed in (raw[:-1], raw + b"\n", b""):
            path.write_bytes(changed)
            assert f"{name}: was changed after signing" in problems(store)
        path.unlink()
        assert f"{name}: was removed after signing" in problems(store)
        path.write_bytes(raw)
    assert problems(store) == ""


def _add_file(store: Path) -> None:
    (store / "logs" / "more.agent.stdout").write_bytes(b"x")


def _add_link(store: Path) -> None:
    (store / "notes").symlink_to("run.json")


def _drop_a_trial_and_seal_again(store: Path) -> None:
    write_records(store, read_jsonl(store / "trials.jsonl")[:-1])


def _change_outcomes_and_seal_again(store: Path) -> None:
    edit_records(store, lambda record: record.update(detail="another"))


def _another_run_id(store: Path) -> None:
    edit_info(store, run_id="another")


def _another_decision(store: Path) -> None:
    path = store / "decision.json"
    path.write_bytes(path.read_bytes().replace(b"INCONCLUSIVE", b"PASS"))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_add_file, "logs/more.agent.stdout: was added"),
        (_add_link, "notes: is no plain file"),
        (_drop_a_trial_and_seal_again, "trials.jsonl: was changed"),
        (_change_outcomes_and_seal_again, "trials.jsonl: was changed"),
        (_another_run_id, "it states another run_id"),
        (_another_decision, "is not the decision that follows"),
    ],
)
def test_a_forger_who_seals_again_is_found(change: Callable[[Path], None], named: str, store: Path) -> None:
    change(store)
    assert named in problems(store)


def test_every_leaf_of_the_signature_file_counts(store: Path) -> None:
    path = store / "signature.json"
    raw = path.read_bytes()
    document = json.loads(raw)
    changed = [{**document, key: "x"} for key in document] + [{**document, "more": 1}]
    changed += [{k: v for k, v in document.items() if k != key} for key in document]
    changed += [{**document, "statement": {**document["statement"], key: "x"}} for key in document["statement"]]
    for value in changed:
        path.write_bytes(canonical(value) + b"\n")
        assert "signature.json" in problems(store)
    path.write_bytes(raw[:-1])
    assert "cut short" in problems(store)
    path.unlink()
    assert "the run is not signed" in problems(store)
    path.write_bytes(raw)
    assert problems(store) == ""


def test_a_statement_signed_for_another_run_does_not_fit_this_one(store: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", outcomes={"baseline": "PPP", "candidate": "PPP"})
    sign_run(other, key_file(tmp_path), env={}, at=AT)
    shutil.copy(other / "signature.json", store / "signature.json")
    assert "states another manifest_sha256" not in problems(other)
    assert "trials.jsonl: was changed" in problems(store)


def test_only_the_given_key_or_an_allowed_signer_will_do(store: Path, tmp_path: Path) -> None:
    assert verify_run(store, Trusted()).problems == ()
    assert "not by the given key" in verify_run(store, Trusted(OTHER.public_key())).problems[0]
    signers = tmp_path / "signers"
    signers.write_text(
        "# who may\n\n"
        f"*@example.org,!eve@example.org {public_line(KEY.public_key())} a comment\n"
        f'bob@example.com namespaces="file,arci-*" {public_line(OTHER.public_key())}\n'
        f'eve@example.org namespaces="git" {public_line(KEY.public_key())}\n'
        "old@example.org ssh-rsa AAAAB3NzaC1yc2E=\n"
    )
    allowed = allowed_signers(signers)
    assert len(allowed) == 2
    for signer in (None, "alice@example.org"):
        assert verify_run(store, Trusted(allowed=allowed, signer=signer)).problems == ()
    for signer in ("eve@example.org", "bob@example.com", "*@example.org"):
        found = verify_run(store, Trusted(allowed=allowed, signer=signer)).problems
        assert bool(found) is (signer != "*@example.org")
    assert "any allowed signer" in verify_run(store, Trusted(allowed=allowed[1:])).problems[0]


@pytest.mark.parametrize(
    "line", ["x", "x y z", "a cert-authority ssh-ed25519 AAAA", "a ssh-ed25519 %%%", "a ssh-ed25519"]
)
def test_a_line_of_signers_that_cannot_be_used_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "signers").write_text(f"# one\n{line}\n")
    with pytest.raises(UsageError, match="signers:2: "):
        allowed_signers(tmp_path / "signers")


def test_ssh_keygen_verifies_what_is_signed_here_and_the_other_way_round(store: Path, tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    document = json.loads((store / "signature.json").read_bytes())
    (tmp_path / "sig").write_text(document["signature"])
    (tmp_path / "signers").write_text(f"me {public_line(KEY.public_key())}\n")
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "me", "-n", "arci-run", "-s", "sig"]
    message = canonical(document["statement"]) + b"\n"
    assert subprocess.run(command, cwd=tmp_path, input=message, capture_output=True).returncode == 0
    assert subprocess.run(command, cwd=tmp_path, input=message + b" ", capture_output=True).returncode != 0
    theirs = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-f", key_file(tmp_path), "-n", "arci-run"], input=message, capture_output=True
    )
    assert signer_of(theirs.stdout.decode(), message).public_bytes_raw() == KEY.public_key().public_bytes_raw()


def test_a_signature_for_something_else_or_cut_anywhere_is_none() -> None:
    armoured = sign(KEY, b"message")
    assert signer_of(armoured, b"message")
    lines = armoured.splitlines()
    for at in range(1, len(lines) - 1):
        with pytest.raises(ValueError, match=r"\w"):
            signer_of("\n".join([*lines[:at], *lines[at + 1 :]]), b"message")
    with pytest.raises(ValueError, match="one of the two was changed"):
        signer_of(armoured, b"massage")


def test_keys_are_read_as_people_have_them(tmp_path: Path) -> None:
    secret = serialization.BestAvailableEncryption(b"open sesame")
    for number, (form, lock) in enumerate([(PEM, PLAIN), (PEM, secret), (OPENSSH, PLAIN), (OPENSSH, secret)]):
        path = tmp_path / f"key{number}"
        path.write_bytes(KEY.private_bytes(serialization.Encoding.PEM, form, lock))
        read = private_key(path, {"ARCI_KEY_PASSPHRASE": "open sesame"})
        assert read.private_bytes_raw() == KEY.private_bytes_raw()
        if lock is secret:
            with pytest.raises(UsageError, match=r"is encrypted.*ARCI_KEY_PASSPHRASE"):
                private_key(path, {})
            with pytest.raises(UsageError, match="the passphrase does not open it"):
                private_key(path, {"ARCI_KEY_PASSPHRASE": "wrong"})
    pem = tmp_path / "pub.pem"
    public = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    pem.write_bytes(public)
    for path in (pem, public_file(tmp_path)):
        assert public_key(path).public_bytes_raw() == KEY.public_key().public_bytes_raw()


def test_keys_that_cannot_be_used_are_named_and_never_shown(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    other = tmp_path / "ecdsa"
    other.write_bytes(generate_private_key(SECP256R1()).private_bytes(serialization.Encoding.PEM, OPENSSH, PLAIN))
    damaged = tmp_path / "damaged"
    damaged.write_bytes(key_file(tmp_path).read_bytes()[:200])
    for path, reason in ((other, "another kind"), (damaged, "no private key"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(UsageError, match=reason) as caught:
            private_key(path, {})
        assert str(path) in str(caught.value)
    with pytest.raises(UsageError, match="is a private key; to verify, the public one"):
        public_key(key_file(tmp_path))
    with pytest.raises(UsageError, match="no public key that can be used"):
        public_key(other.with_suffix(".pub") if other.with_suffix(".pub").exists() else _text(tmp_path, "ssh-rsa AAAA"))


def _text(directory: Path, text: str) -> Path:
    (directory / "text.pub").write_text(text)
    return directory / "text.pub"


def test_what_does_not_hold_or_is_under_way_is_not_signed(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    store = make_run(tmp_path / "a", finish=False)
    with pytest.raises(UsageError, match=r"not sealed.*--resume"):
        sign_run(store, key, env={}, at=AT)
    broken = make_run(tmp_path / "b")
    edit_records(broken, lambda record: record.update(detail="x"), reseal=False)
    with pytest.raises(StoreError, match="does not hold: trial"):
        sign_run(broken, key, env={}, at=AT)
    with pytest.raises(ArciError, match="not a run store"):
        sign_run(tmp_path, key, env={}, at=AT)
    assert not any(path.name in ("signature.json", "run.lock") for path in tmp_path.iterdir())


def test_a_stopped_run_and_a_shard_can_be_signed(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    document = dict(read_run(make_run(tmp_path / "whole")).manifest or {})
    for shard in (None, Shard(1, 2)):
        with RunWriter.create(tmp_path / "runs", document, "run", shard=shard) as writer:
            writer.finish("stopped")
        signed = sign_run(writer.directory, key, env={}, at=AT)
        assert signed.statement["verdict"] == (None if shard else "ERROR")
        assert problems(writer.directory) == ""


def test_the_commands_exit_with_0_or_3(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = call(capsys, "sign", store, "--key", key_file(tmp_path), "--json")
    assert (again.exit_code, again.json["fingerprint"]) == (0, fingerprint(KEY.public_key()))
    held = call(capsys, "verify", store, "--key", public_file(tmp_path), "--json")
    assert (held.exit_code, held.json["holds"], held.json["signer_checked"]) == (0, True, True)
    unasked = call(capsys, "verify", store)
    assert unasked.exit_code == 0
    assert "anybody's signature would do" in unasked.stdout
    other = call(capsys, "verify", store, "--key", public_file(tmp_path, OTHER, "other.pub"))
    assert (other.exit_code, "not by the given key" in other.stdout) == (3, True)
    (store / "decision.json").unlink()
    changed = call(capsys, "verify", store, "--json")
    assert (changed.exit_code, changed.json["holds"]) == (3, False)
    assert call(capsys, "verify", store, "--signer", "me").exit_code == 64
    assert call(capsys, "verify", tmp_path).exit_code == 3
