"""Which hosts the user's machine lets a key go to, whatever a descriptor says. Pure: texts in, rules out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["DEFAULTS", "HOSTS_VARIABLE", "KEYLESS", "Allowances", "parse_pattern", "parse_variable"]

HOSTS_VARIABLE = "ARCI_UPSTREAM_HOSTS"
KEYLESS = "*"
"""The name under which hosts are allowed that are called without any key. Not a wildcard: it allows no key anything."""

DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "ANTHROPIC_API_KEY": ("api.anthropic.com",),
    "CEREBRAS_API_KEY": ("api.cerebras.ai",),
    "DEEPSEEK_API_KEY": ("api.deepseek.com",),
    "FIREWORKS_API_KEY": ("api.fireworks.ai",),
    "GEMINI_API_KEY": ("generativelanguage.googleapis.com",),
    "GROQ_API_KEY": ("api.groq.com",),
    "MISTRAL_API_KEY": ("api.mistral.ai",),
    "OPENAI_API_KEY": ("api.openai.com", "*.api.openai.com"),
    "OPENROUTER_API_KEY": ("openrouter.ai",),
    "TOGETHER_API_KEY": ("api.together.xyz",),
    "TYPESAFE_API_KEY": ("api.typesafe.ai",),
    "XAI_API_KEY": ("api.x.ai",),
}
"""Name of a key -> the hosts of the provider that issues keys under it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\*")
_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")


class Allowances:
    """What is allowed. What a source says of a name replaces what is built in for it; sources add up."""

    def __init__(self, *sources: Mapping[str, Iterable[str]]) -> None:
        said: dict[str, tuple[str, ...]] = {}
        for source in sources:
            for name, patterns in source.items():
                said[name] = (*said.get(name, ()), *patterns)
        self._patterns = {**DEFAULTS, **said}

    def hosts(self, name: str) -> tuple[str, ...]:
        """Hosts and `*.suffix` patterns for the key of that name; `KEYLESS` for calls without a key."""
        return self._patterns.get(name, ())

    def allows(self, name: str, host: str) -> bool:
        """Whether `host` (lower case) is allowed for that name."""
        return any(_matches(pattern, host) for pattern in self.hosts(name))


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) >= len(pattern)
    return host == pattern


def parse_pattern(text: str) -> str:
    """One host or `*.suffix`, in lower case. ValueError for anything else, a port, path or URL included."""
    if not _HOST.fullmatch(text):
        raise ValueError(f"{text!r} is no host; a host name such as api.openai.com, or *.suffix, is allowed.")
    return text.lower()


def parse_variable(text: str) -> dict[str, tuple[str, ...]]:
    """`NAME=host[,host...];NAME2=...` as a mapping. ValueError names the entry that is wrong."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, hosts = (part.strip() for part in entry.partition("="))
        if not equals or not _NAME.fullmatch(name):
            raise ValueError(f"{entry!r} is no entry; NAME=host[,host...], entries joined by `;`, is allowed.")
        patterns = tuple(parse_pattern(host.strip()) for host in hosts.split(",") if host.strip())
        if not patterns:
            raise ValueError(f"{entry!r} names no host; NAME=host[,host...] is allowed.")
        found[name] = (*found.get(name, ()), *patterns)
    return found
