"""Whom TLS trusts: the system's store, or where there is none the one that comes with httpx, and ARCI_CA_BUNDLE."""

from __future__ import annotations

import ssl

import httpx

__all__ = ["tls_context"]


def tls_context(ca_bundle: str | None) -> ssl.SSLContext:
    """A context that checks names and chains. OpenSSL's own SSL_CERT_FILE and SSL_CERT_DIR name the system's store.

    `ca_bundle`: a PEM file trusted besides. OSError (ssl.SSLError among it) where it cannot be read.
    """
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath and not context.cert_store_stats()["x509_ca"]:
        context = httpx.create_ssl_context(trust_env=False)
    if ca_bundle:
        context.load_verify_locations(ca_bundle)
    return context
