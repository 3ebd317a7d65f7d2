"""What image builds of the tests trust: the certificates of this machine, which may know a proxy that others do not."""

from __future__ import annotations

import os
import ssl

__all__ = ["build_trust"]


def build_trust() -> dict[str, str | None]:
    """Variables for `arci`. A bundle that was chosen already stays; none where the machine has none."""
    chosen = os.environ.get("ARCI_BUILD_CA_BUNDLE") or ssl.get_default_verify_paths().cafile
    return {"ARCI_BUILD_CA_BUNDLE": chosen}
