"""What is allowed and yet worth saying before trial 1. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from arci.manifest.images import requests_of, shared_images
from arci.manifest.rules import bucket_of
from arci.manifest.shape import DescriptorShape
from arci.model.manifest import Arm, Manifest

__all__ = ["arms_warnings", "least_n_to_block", "least_n_to_pass", "warnings_of"]


def warnings_of(shape: DescriptorShape, root: Path) -> Iterator[str]:
    """Sentences, each with what to do about it."""
    backend = shape.isolation if isinstance(shape.isolation, str) else shape.isolation.backend
    shared = shared_images(requests_of(shape, root)) if backend == "docker" else []
    if shared:
        yield (
            f"the agent's image of {' and '.join(shared)} also holds world or oracle, so the agent can read its judge; "
            "give each arm a context or an image of its own."
        )
    yield from _reach(shape)


def arms_warnings(manifest: Manifest) -> list[str]:
    """One where both arms run the same program out of the same image or sources in the same environment."""
    told = [_identity(manifest, arm) for arm in manifest.arms.values()]
    if None in told or len(told) != 2 or told[0] != told[1]:
        return []
    return [
        "both arms are the same (program, image or sources, and environment): only noise is compared; "
        "point candidate at what was changed."
    ]


def _identity(manifest: Manifest, arm: Arm) -> tuple[object, ...] | None:
    """What an arm runs; None where it is not known."""
    image = manifest.images.get(arm.name)
    sha256 = image.get("sha256") if isinstance(image, dict) else image
    return None if sha256 is None else (sha256, arm.kind, arm.ref, arm.argv, arm.env, arm.secret_env)


def least_n_to_pass(tail: float, delta: float) -> int:
    """Least N at which two arms without any failure PASS: N/N has the exact lower bound tail^(1/N)."""
    return math.floor(math.log(tail) / math.log1p(-delta)) + 1


def least_n_to_block(tail: float, delta: float) -> int:
    """Least N at which a total collapse, N/N against 0/N, BLOCKs."""
    return math.floor(math.log(tail) / math.log((1 + delta) / 2)) + 1


def _reach(shape: DescriptorShape) -> Iterator[str]:
    buckets = [bucket_of([fault.bucket for fault in condition.listed]) for condition in shape.conditions]
    tail = shape.alpha / (4 * max(1, sum(bucket != "ceiling" for bucket in buckets)))
    least = least_n_to_pass(tail, shape.delta)
    if shape.n_per_arm < least:
        yield f"n_per_arm {shape.n_per_arm} can never PASS with this alpha and delta: {least} is the least that can."
    least = least_n_to_block(tail, shape.delta)
    if shape.n_per_arm < least:
        yield f"n_per_arm {shape.n_per_arm} can never BLOCK with this alpha and delta: {least} is the least that can."
