"""What about upstreams refuses a run before trial 1: addresses, allowed hosts, keys, proxy. Opens no connection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arci.errors import Problem
from arci.run.egress.address import Address, parse_address
from arci.run.egress.hosts import HOSTS_VARIABLE, KEYLESS, Allowances
from arci.run.egress.proxy import CA_VARIABLE, PROXY_VARIABLE, proxy_of
from arci.run.egress.upstream import declared_upstreams

__all__ = ["upstream_problems"]

_KEY = re.compile(r"[\x21-\x7e]+")


def upstream_problems(
    models: Sequence[Mapping[str, Any]],
    decisions: Mapping[str, Any] | None,
    allowances: Allowances,
    env: Mapping[str, str],
    where: str,
) -> list[Problem]:
    """Each problem of the entries of a manifest document; `where` is the descriptor, `env` the host's environment.

    Never quotes the value of a variable.
    """
    entries = declared_upstreams(models, decisions)
    problems = _settings_problems(env) if entries else []
    for path, entry in entries:
        try:
            address = parse_address(entry["base_url"])
        except ValueError as error:
            problems.append(Problem(where, f"{path}.base_url", str(error)))
            continue
        problem = _host_problem(where, path, entry["key"], address, allowances)
        problems += [problem] if problem else _key_problems(where, path, entry["key"], address, env)
    return problems


def _host_problem(where: str, path: str, key: str | None, address: Address, allowances: Allowances) -> Problem | None:
    name = KEYLESS if key is None else key
    if address.is_loopback or allowances.allows(name, address.host):
        return None
    whose = "calls without a key" if key is None else f"the key {key}"
    hosts = ", ".join(allowances.hosts(name)) or "no host"
    return Problem(
        where,
        f"{path}.base_url",
        f"{address.host} is no host that this machine allows for {whose}; {hosts} and loopback are allowed.",
        f"if you trust it, {HOSTS_VARIABLE}='{name}={address.host}' (entries are joined by `;`), "
        f'or `"{name}": [{address.host}]` in arci/upstreams.yaml of your configuration folder',
    )


def _key_problems(where: str, path: str, key: str | None, address: Address, env: Mapping[str, str]) -> list[Problem]:
    if key is None:
        return []
    value = env.get(key, "")
    if not value:
        missing = Problem(where, f"{path}.key", f"the variable {key} is not set here.", f"export {key}=...")
        return [] if address.is_loopback else [missing]
    if not _KEY.fullmatch(value):
        text = f"the value of {key} holds a blank, a line end or another character that no key has; visible ASCII."
        return [Problem(where, f"{path}.key", text)]
    return []


def _settings_problems(env: Mapping[str, str]) -> list[Problem]:
    problems = []
    try:
        proxy_of(env)
    except ValueError as error:
        problems.append(Problem(PROXY_VARIABLE, "", str(error)))
    bundle = env.get(CA_VARIABLE)
    if bundle and not Path(bundle).is_file():
        problems.append(Problem(CA_VARIABLE, "", f"{bundle!r} is no file; a PEM file of authorities is allowed."))
    return problems
