"""Whatever bytes stand in a descriptor: a Descriptor or a SpecError, and no other exception."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from arci.errors import SpecError
from arci.manifest.descriptor import Descriptor, read_descriptor
from arci.manifest.seal import seal
from arci.manifest.shape import DescriptorShape
from arci.model.manifest import Manifest

VALID: dict[str, Any] = {
    "experiment_id": "x",
    "tasks": [{"id": "one", "task": {"n": 1}}, {"id": "two"}],
    "toolset": "w:make",
    "contract": {"oracle": "j:check", "forbidden_tools": ["drop"], "max_calls_per_tool": {"a": 1}, "hard": []},
    "baseline": {"label": "old", "agent": "a:run", "env": {"A": "${KEY}"}},
    "candidate": "b:run",
    "grader": {"image": "g:1"},
    "conditions": [
        {"id": "clean"},
        {"id": "slow", "fault": {"name": "latency", "occurrence": {"from": 1}, "params": {"ms": 5}}},
        {"id": "both", "faults": [{"name": "noop", "occurrence": "every", "tool": "t", "probability": 0.5}]},
    ],
    "budgets": {"max_seconds": 3, "max_usd": 0.5},
    "models": {
        "main": {
            "kind": "openai",
            "model": "m",
            "env": {"key": "OTHER"},
            "prices": {"m": {"input": 1.5, "output": 2}},
        },
        "local": {"kind": "anthropic", "base_url": "http://127.0.0.1:1/", "prices": {"*": {"input": 1, "output": 1}}},
    },
    "decisions": {"upstream": "fixture", "fixture": "d:decide", "model": "jev"},
    "isolation": {"backend": "docker", "memory": "64m", "caps": ["CHOWN"], "platform": "linux/amd64"},
    "images": {"project": {"build": {"context": ".", "args": {"A": "1"}}}},
    "evidence": ["*.json"],
    "secrets": ["KEY"],
    "looks": [],
}

KEYS = sorted(
    {*DescriptorShape.model_fields, "id", "name", "from", "agent", "command", "image", "build", "params", "x", "a\nb"}
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(
        ["a:b", "process", "every", "${KEY}", "512m", "..", "noop", "ceiling", "\ud800", "\0", "{}", "%s", "a\nb"]
    ),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)


def attempt(data: bytes) -> Descriptor | None:
    try:
        return read_descriptor(data, Path(__file__).parent / "arci.yaml")
    except SpecError as error:
        problems = [str(problem) for problem in error.problems]
    assert problems
    assert [problem for problem in problems if not problem.isprintable()] == []
    return None


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in below for place in places(child, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def test_the_valid_one_is_valid_and_seals() -> None:
    descriptor = attempt(json.dumps(VALID).encode())
    assert descriptor is not None
    Manifest.from_document(seal(descriptor, images={}, runtime_sha256="0"))


@given(st.sampled_from(places(VALID)), JUNK)
@settings(max_examples=400, deadline=None)
def test_anything_anywhere_in_a_valid_descriptor_is_judged(path: tuple[Any, ...], junk: Any) -> None:
    descriptor = attempt(json.dumps(replaced(VALID, path, junk)).encode())
    if descriptor is not None:
        Manifest.from_document(seal(descriptor, images={}, runtime_sha256="0"))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_valid_file_with_a_piece_changed_is_judged(data: st.DataObject) -> None:
    text = json.dumps(VALID, indent=1)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 12))
    piece = data.draw(st.text(alphabet=string.printable + "\u2028\x85é&*!|>%@`", max_size=8))
    attempt((text[:start] + piece + text[start + length :]).encode())


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_judged(data: bytes) -> None:
    attempt(data)
    attempt(b"experiment_id: x\ntoolset: a:b\noracle: a:b\nbaseline: a:b\ncandidate: a:b\n" + data)
