"""Mappings that are no descriptor at all, told in one line: files of ARCI's own, and what has no key of one. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arci.errors import Problem, SpecError
from arci.manifest.complaints import show
from arci.manifest.shape import DescriptorShape
from arci.manifest.source import Source, closest

__all__ = ["refuse_other_document"]

_DECIDE = "arci gate {directory} decides that run again; arci run takes the arci.yaml, or a sealed manifest"
_OWN = {
    "arci.run": ("what arci run keeps of a run", _DECIDE),
    "arci.decision": ("the decision of a run", _DECIDE),
    "arci.record": ("the record of a trial", "arci show RUN TRIAL shows it"),
    "arci.signature": ("the signature of a run", "arci verify {directory} verifies it"),
    "arci.bundle": ("what is inside a bundle", "arci replay takes the bundle"),
    "arci.manifest": ("a sealed manifest", "arci run takes it as the JSON that arci seal wrote"),
}
"""First word of a document's `format` -> what it is, and what to do."""
_MOST_SHOWN = 5


def refuse_other_document(source: Source) -> None:
    """SpecError for a mapping that nobody meant as a descriptor."""
    data: Any = None if source.root is None else source.root.plain()
    if not isinstance(data, dict) or not data:
        return
    form = data.get("format")
    known = _OWN.get(str(form).partition("/")[0]) if isinstance(form, str) else None
    if known is not None:
        what, hint = known
        message = f"is no descriptor but {what} (format {show(form)})."
        raise SpecError([Problem(source.name, "", message, hint.format(directory=Path(source.name).parent))])
    keys, allowed = [str(key) for key in data], list(DescriptorShape.model_fields)
    if len(keys) > 1 and not any(key in allowed or closest(key, allowed) for key in keys):
        shown = ", ".join(show(key) for key in keys[:_MOST_SHOWN]) + (", ..." if len(keys) > _MOST_SHOWN else "")
        message = (
            f"is no descriptor: none of its keys ({shown}) is one of a descriptor's; allowed: {', '.join(allowed)}."
        )
        raise SpecError([Problem(source.name, "", message, "arci init writes a descriptor")])
