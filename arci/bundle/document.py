"""`bundle.json`: what a bundle says of itself, as frozen data. What it says is checked against the rest elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arci.bundle.refusal import BundleError
from arci.model.canonical import canonical
from arci.store.lines import parse_object

__all__ = ["BUNDLE_FORMAT", "BundleDocument", "ImageEntry", "LayerEntry", "Maker", "MemberEntry", "parse_document"]

BUNDLE_FORMAT = "arci.bundle/1"

Hex = Annotated[str, Field(pattern=re.compile(r"^[0-9a-f]{64}\Z"))]
Count = Annotated[int, Field(ge=0, lt=1 << 60)]
Text = Annotated[str, Field(max_length=500)]


class _Frozen(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class MemberEntry(_Frozen):
    """One member but `bundle.json` itself."""

    name: Text
    sha256: Hex
    bytes: Count


class LayerEntry(_Frozen):
    """One layer, under its diff id."""

    bytes: Count
    """Unpacked."""


class ImageEntry(_Frozen):
    """One image of the trial. Embedded ones have `config` and `layers`, referenced ones have `references`."""

    identity: dict[str, Text]
    """As `isolation.docker.images_identity` computes it; `sha256` is what the sealed manifest names."""
    config: Hex | None
    """Digest of the image's own configuration: its id on engines with the classic store."""
    layers: tuple[Hex, ...]
    """Diff ids, the lowest first."""
    references: tuple[Text, ...]
    """`name@sha256:...` in registries."""


class Maker(_Frozen):
    """Who made it: the key's id tells whose key, the signature proves it to that key's owner alone."""

    key_id: Annotated[str, Field(pattern=re.compile(r"^[0-9a-f]{16}\Z"))]
    signature: Hex


class BundleDocument(_Frozen):
    format: Literal["arci.bundle/1"]
    arci_version: Text
    runtime_sha256: Hex
    """Of what ARCI ran inside the guests."""
    experiment_id: Text
    trial_id: Text
    arm: Literal["baseline", "candidate"]
    manifest_sha256: Hex
    record_sha256: Hex
    isolation: Literal["process", "docker"]
    agent: Literal["python", "command"]
    source_root: Text | None
    """process: where the descriptor's directory lies in the source tree."""
    source_bytes: Count
    """process: the source tree, unpacked."""
    images: dict[Text, ImageEntry]
    """docker: `baseline` or `candidate`, `boundary`, `grader`, `server:<name>`; and `runtime`, which no manifest
    names: what the engine of a replay starts its own holders from where it has none."""
    layers: dict[Hex, LayerEntry]
    members: tuple[MemberEntry, ...]
    made_by: Maker

    def signed(self) -> bytes:
        """What the signature is over: all of it, and through `members` every other byte of the bundle."""
        return signed_part(self.model_dump(mode="json"))

    def encoded(self) -> bytes:
        """The member's content."""
        return canonical(self.model_dump(mode="json")) + b"\n"


def signed_part(document: Mapping[str, Any]) -> bytes:
    """`document` without its signature, in canonical form. Pure."""
    maker = {k: v for k, v in document["made_by"].items() if k != "signature"}
    return canonical({**document, "made_by": maker})


def parse_document(data: bytes) -> BundleDocument:
    """BundleError for anything but the canonical form of a valid document of this version."""
    try:
        if not data.endswith(b"\n"):
            raise ValueError("does not end in a newline")
        value = parse_object(data[:-1])
        if value.get("format") != BUNDLE_FORMAT:
            raise ValueError(f"format is {str(value.get('format'))[:40]!r}; this version reads {BUNDLE_FORMAT!r}")
        return BundleDocument.model_validate_json(data, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:200]
        raise BundleError(f"bundle.json: {where}: {first['msg']}.") from None
    except ValueError as error:
        raise BundleError(f"bundle.json: {error}.") from None
