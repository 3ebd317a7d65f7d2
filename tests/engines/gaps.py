"""What other engines do not keep of the back end's contract: name of a check -> why. The page on engines says it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["GAPS"]

_NO_DELEGATION = "cgroup v1 cannot be given to a user, so this engine takes the limit and does not enforce it"
GAPS: Mapping[str, Mapping[str, str]] = {
    "tcp": {},
    "tls": {},
    "podman": {},
    "rootless": {"memory_is_limited": _NO_DELEGATION, "processes_are_limited": _NO_DELEGATION},
}
