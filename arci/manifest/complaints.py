"""pydantic's errors in ARCI's words: path, value, what is allowed, and the key that was probably meant. Pure."""

from __future__ import annotations

import json
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from arci.manifest.shape import DescriptorShape
from arci.manifest.source import Finding, closest, one_line
from arci.manifest.strict_yaml import Path

__all__ = ["allowed_keys", "complaints", "show"]

_SAID = {
    "int_type": "is not a whole number; a whole number is required.",
    "float_type": "is not a number; a number is required.",
    "bool_type": "is not a boolean; true or false.",
    "string_type": "is not text; text is required.",
    "list_type": "is not a list; a list is required.",
    "dict_type": "is not a mapping; a mapping is required.",
    "model_type": "is not a mapping; a mapping is required.",
    "model_attributes_type": "is not a mapping; a mapping is required.",
    "greater_than": "is out of range; more than {gt}.",
    "greater_than_equal": "is out of range; {ge} or more.",
    "less_than": "is out of range; less than {lt}.",
    "less_than_equal": "is out of range; {le} or less.",
    "literal_error": "is unknown; allowed: {expected}.",
    "too_short": "is too short; at least {min_length} entries.",
    "too_long": "has {actual_length} entries; at most {max_length}.",
    "string_too_long": "is too long; at most {max_length} characters.",
}
_FORMS = {
    "occurrence": "a call's number from 0, every, or {from: n}.",
    "tasks": "a list of {id, task}, or the path of a JSONL file.",
    "baseline": "module:function, or a mapping.",
    "candidate": "module:function, or a mapping.",
    "isolation": "process, docker, or a mapping.",
    "snapshot": "module:function, or a mapping.",
}
"""What is allowed where a value has a short and a long form."""


def complaints(error: ValidationError) -> list[Finding]:
    """A finding for each error, in the order of the models' keys. Of the unknown keys of one mapping the first alone
    lists what is allowed."""
    listed: set[tuple[int | str, ...]] = set()
    findings = []
    for detail in error.errors(include_url=False):
        place = detail["loc"][:-1]
        is_unknown = detail["type"] == "extra_forbidden"
        findings.append(_unknown(detail, is_first=place not in listed) if is_unknown else _finding(detail))
        listed |= {place} if is_unknown else set()
    return findings


def allowed_keys(location: tuple[int | str, ...]) -> list[str]:
    """Keys of the model at a pydantic location, in their order."""
    models: set[type[BaseModel]] = {DescriptorShape}
    for part in location:
        fields = [field for model in models for field in [_field(model, part)] if field is not None]
        if fields:  # positions, tags and free keys lead to no other model
            models = {model for field in fields for model in _models(field)}
    return [_key(name, model) for model in sorted(models, key=lambda m: m.__name__) for name in model.model_fields]


def show(value: Any) -> str:
    """`value` as a person may read it in one line, cut at 80 characters."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return one_line(text if len(text) <= 80 else f"{text[:80]}...")


def _unknown(detail: ErrorDetails, *, is_first: bool) -> Finding:
    location = detail["loc"]
    path: Path = tuple(part for part in location if not _is_tag(part))
    allowed = allowed_keys(location[:-1])
    rest = f"; allowed: {', '.join(allowed)}." if is_first else " either."
    return Finding(path, f"is not a known key{rest}", closest(str(path[-1]), allowed))


def _finding(detail: ErrorDetails) -> Finding:
    location = detail["loc"]
    path: Path = tuple(part for part in location if not _is_tag(part))
    kind = detail["type"]
    if kind == "missing":
        return Finding(path, "is missing; it is required.")
    if kind == "arci":
        return Finding(path, detail["ctx"]["complaint"])
    if _is_tag(location[-1]) and path[-1] in _FORMS and kind.endswith(("_type", "literal_error")):
        return Finding(path, f"{show(detail['input'])} is not allowed here; {_FORMS[str(path[-1])]}")
    return Finding(path, _said(detail), _hint(kind, detail["input"]))


def _said(detail: ErrorDetails) -> str:
    template = _SAID.get(detail["type"])
    if template is None:
        return f"{show(detail['input'])}: {detail['msg']}."
    context = {key: _number(value) for key, value in detail.get("ctx", {}).items()}
    context["expected"] = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
    return f"{show(detail['input'])} {template.format(**context)}"


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _hint(kind: str, value: Any) -> str | None:
    if kind == "string_type" and isinstance(value, (int, float)):
        return "put it in quotes."
    if kind in ("int_type", "float_type") and isinstance(value, str) and value.strip().lstrip("+-")[:1].isdigit():
        return "take the quotes away; a type is never coerced."
    return None


def _is_tag(part: int | str) -> bool:
    return isinstance(part, str) and (part == "[key]" or (part.startswith("<") and part.endswith(">")))


def _field(model: type[BaseModel], part: int | str) -> Any:
    for name, field in model.model_fields.items():
        if _key(name, model) == part:
            return field.annotation
    return None


def _key(name: str, model: type[BaseModel]) -> str:
    return model.model_fields[name].alias or name


def _models(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {model for part in get_args(annotation) for model in _models(part)}
