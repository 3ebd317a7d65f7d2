"""Keys as people have them: OpenSSH and PEM files, public keys, and files of allowed signers."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from arci.errors import UsageError
from arci.sign.sshsig import KEY_TYPE, NAMESPACE, key_blob, public_key_of_blob

__all__ = ["PASSPHRASE", "Allowed", "allowed_signers", "private_key", "public_key"]

PASSPHRASE = "ARCI_KEY_PASSPHRASE"
"""The variable that an encrypted key's passphrase is taken from: no prompt, so that CI never waits for one."""
_MOST_BYTES = 1 << 20
_KIND_HINT = "ssh-keygen -t ed25519 makes one"


@dataclass(frozen=True, slots=True)
class Allowed:
    """A line of a file of allowed signers."""

    principals: tuple[str, ...]
    """Patterns with `*` and `?`; one with `!` before it is excluded."""
    key: Ed25519PublicKey

    def is_of(self, signer: str) -> bool:
        """Whether the line allows this person."""
        if any(fnmatchcase(signer, p[1:]) for p in self.principals if p.startswith("!")):
            return False
        return any(fnmatchcase(signer, p) for p in self.principals if not p.startswith("!"))

    def fits(self, key: Ed25519PublicKey) -> bool:
        return key_blob(key) == key_blob(self.key)


def private_key(path: Path, env: Mapping[str, str]) -> Ed25519PrivateKey:
    """The Ed25519 key of an OpenSSH or PEM file. UsageError naming the file and what to do; never its content."""
    data, phrase = _read(path), env.get(PASSPHRASE)
    load = serialization.load_ssh_private_key if b"BEGIN OPENSSH" in data else serialization.load_pem_private_key
    try:
        key = _opened(load, data, None)
        if key is None:  # it is encrypted
            if not phrase:
                raise UsageError(f"{path}: the key is encrypted.", hint=f"put its passphrase into {PASSPHRASE}")
            key = load(data, phrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        reason = "the passphrase does not open it, or it is damaged" if phrase else _reason(error)
        raise UsageError(f"{path}: no private key that can be used: {reason}.", hint=_KIND_HINT) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path}: a key of another kind than Ed25519; that kind alone signs runs.", hint=_KIND_HINT)
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """The key of a `.pub` file, or of a PEM file. UsageError else."""
    data = _read(path)
    if b"PRIVATE KEY" in data:
        raise UsageError(f"{path}: is a private key; to verify, the public one (such as {path}.pub) is needed.")
    try:
        if data.lstrip().startswith(b"-----BEGIN"):
            key = serialization.load_pem_public_key(data)
        else:
            return _written_key(data.decode("utf-8", "replace").split())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(f"{path}: no public key that can be used: {_reason(error)}.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{path}: a key of another kind than Ed25519; that kind alone signs runs.")
    return key


def allowed_signers(path: Path) -> list[Allowed]:
    """The Ed25519 lines of a file as `ssh-keygen -Y verify -f` reads it. UsageError where one cannot be used.

    Options: `namespaces` are held to; `valid-after`, `valid-before` and `cert-authority` are refused, not ignored.
    """
    found = []
    for number, line in enumerate(_read(path).decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            at = next(i for i, word in enumerate(words[1:3], 1) if word.startswith(("ssh-", "ecdsa-", "sk-")))
        except StopIteration:
            raise UsageError(f"{path}:{number}: no signer; `principals [options] key-type key` is allowed.") from None
        if not _is_for_runs(words[1] if at == 2 else "", f"{path}:{number}") or words[at] != KEY_TYPE:
            continue
        try:
            found.append(Allowed(tuple(words[0].strip('"').split(",")), _written_key(words[at:])))
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {_reason(error)}.") from None
    return found


def _is_for_runs(options: str, where: str) -> bool:
    name, _, value = options.partition("=")
    if name.lower() not in ("", "namespaces"):
        raise UsageError(f"{where}: the option {name!r} is not understood; `namespaces` alone is.")
    return not name or any(fnmatchcase(NAMESPACE, pattern) for pattern in value.strip('"').split(","))


def _opened(load: object, data: bytes, phrase: bytes | None) -> object:
    """The key, or None where it is encrypted."""
    try:
        return load(data, phrase)  # type: ignore[operator]  # one of the library's two loaders
    except TypeError:  # how the library says that a passphrase is needed
        return None
    except ValueError as error:
        if "encrypted" in str(error).lower() and "password" in str(error).lower():
            return None
        raise


def _written_key(words: list[str]) -> Ed25519PublicKey:
    if len(words) < 2 or words[0] != KEY_TYPE:
        raise ValueError(f"its kind is {words[0][:40] if words else ''!r}; {KEY_TYPE} is read")
    try:
        return public_key_of_blob(base64.b64decode(words[1], validate=True))
    except binascii.Error:
        raise ValueError("the key is no base64") from None


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
