"""Remove what dead runs left on an engine: decided by `labels.dead_leftovers`, done here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.docker.containers import CALL_S
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN, Leftovers, dead_leftovers
from arci.isolation.docker.lent import LENT, forget_bytecode

__all__ = ["find_leftovers", "sweep"]

_TRIES = 3
_PAUSE_S = 0.2


async def find_leftovers(engine: Engine) -> Leftovers:
    """What dead runs left; runs that live (their holders do) are not in it."""
    only_ours = {"label": [RUN]}
    containers = await engine.call(
        "list containers", engine.api.containers, all=True, filters=only_ours, timeout_s=CALL_S
    )
    volumes = await engine.call("list volumes", engine.api.volumes, filters=only_ours, timeout_s=CALL_S)
    info = await engine.call("ask the engine about itself", engine.api.info, timeout_s=CALL_S)
    return dead_leftovers(containers, volumes["Volumes"] or (), now_s=_clock_s(info))


async def sweep(engine: Engine) -> Leftovers:
    """Remove them, containers before their volumes. What another `arci` removes meanwhile is no error.

    EngineError, once everything was tried or the engine is mute, names what it would not remove.
    """
    found = await find_leftovers(engine)
    stuck = [await _remove(engine, engine.api.remove_container, key, v=True, force=True) for key in found.containers]
    for lent in (name for name in found.volumes if name.startswith(LENT)):
        await forget_bytecode(engine, (), lent=lent)  # first: it is found by the volume's name alone
    stuck += [await _remove(engine, engine.api.remove_volume, name, force=True) for name in found.volumes]
    if reasons := [reason for reason in stuck if reason is not None]:
        raise EngineError("remove what dead runs left", "; ".join(reasons))
    return found


async def _remove(engine: Engine, function: Any, key: str, **kwargs: bool) -> str | None:
    """Why it is still there, or None."""
    trouble = None
    for attempt in range(_TRIES):  # Podman refuses while it still tidies up after a container's end
        await anyio.sleep(attempt * _PAUSE_S)
        try:
            await engine.call(key[:12], function, key, timeout_s=CALL_S, **kwargs)
        except EngineError as error:
            if error.status in (404, 409):  # gone, or being removed by another sweep
                return None
            if engine.is_mute:
                raise
            trouble = str(error)
        else:
            return None
    return trouble


def _clock_s(info: dict[str, Any]) -> float:
    """The engine's own clock, Unix seconds: ages of its objects are told by it."""
    text = str(info["SystemTime"])
    # Nanoseconds are one thing too many for `fromisoformat`.
    whole, _, rest = text.partition(".")
    zone = rest.lstrip("0123456789") if rest else ""
    return datetime.fromisoformat(f"{whole}{zone}").timestamp()
