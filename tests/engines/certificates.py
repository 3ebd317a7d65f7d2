"""A certificate authority of one test session, and what it vouches for: an engine's server and its client."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority"]

_DAY = datetime.timedelta(days=1)


class Authority:
    """Signs for `127.0.0.1`."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("ARCI test authority")
        builder = _builder(self._name, self._name, self._key).add_extension(x509.BasicConstraints(True, None), True)
        self.certificate = builder.sign(self._key, hashes.SHA256())

    def issue(self, directory: Path, *, server: bool) -> None:
        """Write `ca.pem`, `cert.pem` and `key.pem`, as engines and their clients call them."""
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = _builder(_name("engine" if server else "client"), self._name, key)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), False)
        signed = builder.sign(self._key, hashes.SHA256())
        directory.mkdir(parents=True, exist_ok=True)
        pem = serialization.Encoding.PEM
        (directory / "ca.pem").write_bytes(self.certificate.public_bytes(pem))
        (directory / "cert.pem").write_bytes(signed.public_bytes(pem))
        plain = serialization.NoEncryption()
        (directory / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )
