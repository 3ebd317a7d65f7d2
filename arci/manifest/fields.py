"""The small values of a descriptor as strict pydantic types: references, sizes, globs, names. Pure.

A rule raises ValueError with `what is wrong, with the value; what is allowed.`; `reading` turns it into a problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from keyword import iskeyword
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

__all__ = [
    "SERVER_NAME",
    "Argument",
    "EnvName",
    "ExperimentId",
    "Glob",
    "ImageName",
    "Name",
    "Platform",
    "Reference",
    "RelativePath",
    "ServerName",
    "Size",
    "Text",
    "UpstreamName",
    "UpstreamUrl",
    "is_reference",
    "size_bytes",
]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
SERVER_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_SERVER = re.compile(SERVER_NAME)
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"([0-9]{1,15})([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_PLATFORM = re.compile(r"[a-z0-9]+/[a-z0-9_]+(/[a-z0-9.]+)?")
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#@]*)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def is_reference(text: str) -> bool:
    """True for `module:function`, both possibly dotted."""
    module, colon, function = text.partition(":")
    names = [*module.split("."), *function.split(".")]
    return bool(colon) and all(name.isidentifier() and not iskeyword(name) for name in names)


def size_bytes(value: str | int) -> int:
    """Bytes of `512m`, `2g`, `1024` (units of 1024, as container engines count). ValueError for anything else."""
    if isinstance(value, int):
        return value
    match = _SIZE.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not a size; bytes as a number, or text such as 512m or 2g.")
    return int(match[1]) * _UNITS[match[2].lower()]


def _rule(check: Callable[[Any], str | None]) -> AfterValidator:
    """A pydantic validator from a function that answers with the complaint, or None."""

    def validate(value: Any) -> Any:
        complaint = check(value)
        if complaint is not None:
            # As a parameter: braces in the user's text must not be read as a template.
            raise PydanticCustomError("arci", "{complaint}", {"complaint": complaint})
        return value

    return AfterValidator(validate)


def _matching(pattern: re.Pattern[str], allowed: str) -> AfterValidator:
    return _rule(lambda value: None if pattern.fullmatch(value) else f"{_show(value)}: {allowed}.")


def _show(value: str) -> str:
    return repr(value) if len(value) <= 80 else f"{value[:80]!r}... ({len(value)} characters)"


def _reference(value: str) -> str | None:
    return None if is_reference(value) else f"{_show(value)} is not a reference; module:function is required."


def _size(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return f"{value!r} is not a size; bytes as a number, or text such as 512m or 2g."
    try:
        size = size_bytes(value)
    except ValueError as error:
        return str(error)
    if not 1 << 20 <= size <= 1 << 50:
        return f"{value!r} is {size} bytes; from 1m to 1024t."
    return None


def _relative(value: str) -> str | None:
    if not value or _CONTROL.search(value) or "\\" in value:
        return f"{_show(value)} is not a path; a path relative to the descriptor, with forward slashes."
    if PurePosixPath(value).is_absolute() or value.startswith("~") or value[1:2] == ":":
        return f"{_show(value)} is tied to one machine; a path relative to the descriptor."
    return None


def _glob(value: str) -> str | None:
    complaint = _relative(value)
    if complaint is None and (".." in value.split("/") or PurePosixPath(value) == PurePosixPath()):
        complaint = f"{_show(value)} leaves the agent's workdir or is all of it; a path or glob below it."
    return complaint


def _text(value: str) -> str | None:
    if value.strip() and not _CONTROL.search(value):
        return None
    return f"{_show(value)} is empty or holds control characters; one line of text is required."


def _argument(value: str) -> str | None:
    return f"{_show(value)} holds a NUL character; text without one is allowed." if "\0" in value else None


def _server(value: str) -> str | None:
    if value == "tools":
        return "'tools' is the name that a toolset is served under; another name."
    if _SERVER.fullmatch(value):
        return None
    return f"{_show(value)}: letters, digits, '_' and '-', beginning with a letter or digit, at most 64."


def _upstream(value: str) -> str | None:
    if value == "decisions":
        return "'decisions' is the name that the decision endpoint is served under; another name."
    if _SERVER.fullmatch(value):
        return None
    return f"{_show(value)}: letters, digits, '_' and '-', beginning with a letter or digit, at most 64."


def _url(value: str) -> str | None:
    """A rough look; `run.egress` reads it by a strict grammar before anything is called."""
    if "@" in value:  # what stands before it may be a password
        return "has a user name or password in it; the key is taken from the host's environment, by its name alone."
    if _URL.fullmatch(value):
        return None
    return f"{_show(value)} is not a base URL; such as https://host/v1, without query and fragment."


def _image(value: str) -> str | None:
    if _text(value) is None and not re.search(r"\s", value) and not value.startswith("-"):
        return None
    return f"{_show(value)} is not an image reference; such as python:3.12-slim, or one with a digest."


_ID_RULE = "letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 200, so that it is a file name"

ExperimentId = Annotated[
    str, _matching(_ID, _ID_RULE), WithJsonSchema({"type": "string", "pattern": f"^{_ID.pattern}$"})
]
"""Also the rule for condition ids: both become file names."""
EnvName = Annotated[
    str,
    _matching(_ENV, "a variable's name is letters, digits and '_', not beginning with a digit"),
    WithJsonSchema({"type": "string", "pattern": f"^{_ENV.pattern}$"}),
]
Reference = Annotated[
    str,
    _rule(_reference),
    WithJsonSchema({"type": "string", "pattern": r"^[\w.]+:[\w.]+$"}),
]
Size = Annotated[
    Any, _rule(_size), WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+[kmgt]?"}]})
]
"""Text or int: one rule for both, so that a wrong one is one problem."""
Platform = Annotated[str, _matching(_PLATFORM, "a platform reads os/architecture, such as linux/amd64")]
RelativePath = Annotated[str, Field(max_length=1000), _rule(_relative)]
Glob = Annotated[str, Field(max_length=1000), _rule(_glob)]
Argument = Annotated[str, Field(max_length=100_000), _rule(_argument)]
"""One word of a command line: any text, also empty or of several lines."""
ServerName = Annotated[str, _rule(_server), WithJsonSchema({"type": "string", "pattern": f"^{SERVER_NAME}$"})]
"""It becomes a directory, a part of a URL and a word of a command line."""
UpstreamName = Annotated[str, _rule(_upstream), WithJsonSchema({"type": "string", "pattern": f"^{SERVER_NAME}$"})]
"""It becomes a part of a URL."""
UpstreamUrl = Annotated[str, Field(max_length=2000), _rule(_url)]
Text = Annotated[str, Field(max_length=10_000), _rule(_text)]
Name = Annotated[str, Field(max_length=200), _rule(_text)]
ImageName = Annotated[str, Field(max_length=500), _rule(_image)]
