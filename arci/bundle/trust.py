"""Whether a bundle was made by this user on this machine: a secret of the user's, never a field of the bundle alone.

An HMAC and no public-key signature: the one who asks is the one who signed, so there is nothing to publish, and no
dependency to carry. What it does not say is whether the bundle is safe; a bundle is read as hostile either way.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from arci.bundle.document import BundleDocument
from arci.errors import StoreError

__all__ = ["Key", "key_path", "made_here", "own_key"]

_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """`id` may be shown; `secret` never leaves this process."""

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        return hmac.digest(self.secret, b"arci bundle key id", sha256).hex()[:16]

    def signature(self, data: bytes) -> str:
        """64 hex digits."""
        return hmac.digest(self.secret, b"arci bundle\0" + data, sha256).hex()


def key_path(environ: Mapping[str, str], home: Path) -> Path:
    """Where the user's key lies: below `XDG_DATA_HOME` if it is set and absolute, else below `~/.local/share`."""
    data = Path(environ.get("XDG_DATA_HOME") or "")
    return (data if data.is_absolute() else home / ".local" / "share") / "arci" / "bundle.key"


def own_key(path: Path | None = None, *, make: bool = True) -> Key | None:
    """The user's key, made on first use; None if there is none and `make` is false.

    StoreError where it cannot be read or written, or others than the user can: then it proves nothing.
    """
    path = path or key_path(os.environ, Path.home())
    try:
        found = _read(path)
        return _make(path) if found is None and make else found
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def made_here(document: BundleDocument, key: Key | None) -> bool:
    """True if `key` signed this very document."""
    if key is None or document.made_by.key_id != key.id:
        return False
    return hmac.compare_digest(document.made_by.signature, key.signature(document.signed()))


def _read(path: Path) -> Key | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.geteuid():
            raise StoreError(f"{path}: may be read by others, or is not yours; a file of mode 0600 is required.")
        secret = os.read(fd, _BYTES + 1)
    finally:
        os.close(fd)
    if len(secret) != _BYTES:
        raise StoreError(f"{path}: holds {len(secret)} bytes; {_BYTES} are required.", hint=f"rm {path}")
    return Key(secret)


def _make(path: Path) -> Key | None:
    """Written whole under another name, then linked: of two that make one at once, both use the first."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, secrets.token_bytes(_BYTES))
        os.fsync(fd)
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        os.close(fd)
        fresh.unlink(missing_ok=True)
    return _read(path)
