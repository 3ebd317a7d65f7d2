"""The signature format of `ssh-keygen -Y` (OpenSSH's PROTOCOL.sshsig), for Ed25519 keys. Pure.

So a run that was signed here can be verified without ARCI, and the key is one that people have.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import textwrap

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = [
    "KEY_TYPE",
    "NAMESPACE",
    "fingerprint",
    "key_blob",
    "public_key_of_blob",
    "public_line",
    "sign",
    "signer_of",
]

NAMESPACE = "arci-run"
"""What the signature is for: one that was given for something else is none here."""
KEY_TYPE = "ssh-ed25519"
_MAGIC, _VERSION, _HASH = b"SSHSIG", 1, "sha512"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"


def sign(key: Ed25519PrivateKey, message: bytes) -> str:
    """The armoured signature."""
    raw = key.sign(_to_be_signed(message))
    blob = _MAGIC + struct.pack(">I", _VERSION)
    for part in (key_blob(key.public_key()), NAMESPACE.encode(), b"", _HASH.encode(), _strings(KEY_TYPE.encode(), raw)):
        blob += _strings(part)
    lines = textwrap.wrap(base64.b64encode(blob).decode(), 70)
    return "\n".join([_BEGIN, *lines, _END]) + "\n"


def signer_of(armoured: str, message: bytes) -> Ed25519PublicKey:
    """The public key in the signature, which is over `message`. ValueError with the reason else."""
    blob = _unarmoured(armoured)
    magic = _MAGIC + struct.pack(">I", _VERSION)
    if not blob.startswith(magic):
        raise ValueError("is no SSH signature of version 1")
    key, namespace, reserved, hash_name, signature = _split(blob[len(magic) :], 5)
    if (namespace, reserved, hash_name) != (NAMESPACE.encode(), b"", _HASH.encode()):
        raise ValueError(f"was given for {namespace!r} with {hash_name!r}; {NAMESPACE!r} with {_HASH!r} is required")
    public = public_key_of_blob(key)
    kind, raw = _split(signature, 2)
    if kind != KEY_TYPE.encode():
        raise ValueError(f"is of the kind {kind!r}; {KEY_TYPE} is read")
    try:
        public.verify(raw, _to_be_signed(message))
    except InvalidSignature:
        raise ValueError("does not fit what it stands beside: one of the two was changed") from None
    return public


def key_blob(key: Ed25519PublicKey) -> bytes:
    """The public key as SSH writes it."""
    return _strings(KEY_TYPE.encode(), key.public_bytes_raw())


def public_line(key: Ed25519PublicKey) -> str:
    """The public key as a `.pub` file has it, without a comment."""
    return f"{KEY_TYPE} {base64.b64encode(key_blob(key)).decode()}"


def public_key_of_blob(blob: bytes) -> Ed25519PublicKey:
    """The other way round. ValueError where it is no Ed25519 key."""
    kind = _split(blob, None)[0]
    if kind != KEY_TYPE.encode():
        raise ValueError(f"its key is of the kind {kind[:40].decode('ascii', 'replace')!r}; {KEY_TYPE} is read")
    return Ed25519PublicKey.from_public_bytes(_split(blob, 2)[1])


def fingerprint(key: Ed25519PublicKey) -> str:
    """As `ssh-keygen -l` prints it: `SHA256:...`."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key_blob(key)).digest()).decode().rstrip("=")


def _to_be_signed(message: bytes) -> bytes:
    digest = hashlib.new(_HASH, message).digest()
    return _MAGIC + _strings(NAMESPACE.encode(), b"", _HASH.encode(), digest)


def _unarmoured(text: str) -> bytes:
    lines = text.strip().splitlines()
    if len(lines) < 3 or (lines[0], lines[-1]) != (_BEGIN, _END):
        raise ValueError("is no armoured SSH signature")
    try:
        return base64.b64decode("".join(lines[1:-1]), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is no base64") from None


def _strings(*parts: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def _split(data: bytes, count: int | None) -> list[bytes]:
    """The strings that `data` is made of: exactly `count` of them, unless None. ValueError else."""
    parts = []
    while data:
        length = int.from_bytes(data[:4], "big")
        if len(data) < 4 or len(data) < 4 + length:
            raise ValueError("is cut short")
        parts.append(data[4 : 4 + length])
        data = data[4 + length :]
    if not parts or (count is not None and len(parts) != count):
        raise ValueError(f"has {len(parts)} parts; {count or 1} are required")
    return parts
