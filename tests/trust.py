"""What image builds of the tests trust: the certificates of this machine, which may know a proxy that others do not."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

__all__ = ["build_trust"]

_DEBIANS = "/etc/ssl/certs/ca-certificates.crt"


def build_trust() -> dict[str, str | None]:
    """Variables for `arci`. A bundle that was chosen already stays; none where the machine has none."""
    named = (os.environ.get("ARCI_BUILD_CA_BUNDLE"), os.environ.get("PIP_CERT"), ssl.get_default_verify_paths().cafile)
    return {"ARCI_BUILD_CA_BUNDLE": next((path for path in (*named, _DEBIANS) if path and Path(path).is_file()), None)}
