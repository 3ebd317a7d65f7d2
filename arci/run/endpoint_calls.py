"""The calls of `arci preflight` in each protocol: what is asked, and what counts as an answer. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["listed_models", "models_path", "read_reply", "smoke_call", "smoke_complaint"]

_MODELS = {"openai": "/models", "anthropic": "/v1/models?limit=1000", "systemone": "/v1/models"}
_MESSAGE = "This is a test of the connection. Answer with the word ok."
_QUESTIONS: dict[str, dict[str, Any]] = {
    "smoke_noul": {"type": "noul", "instructions": "Is this a test of the connection?"},
    "smoke_choice": {
        "type": "choice",
        "instructions": "What is this?",
        "criteria": {"test": "A test of the connection.", "other": "Anything else."},
    },
    "smoke_score": {
        "type": "score",
        "instructions": "How urgent is this?",
        "criteria": ["Not urgent.", "Urgent."],
    },
}
"""One question of each type."""
_QUOTED = 300


def models_path(kind: str) -> str:
    """Where the list of models is, below the base URL."""
    return _MODELS[kind]


def listed_models(answer: Mapping[str, Any]) -> list[str]:
    """The names in a list of models: `data` of `id`s, `models` of `name`s."""
    found = []
    for key, name in (("data", "id"), ("models", "name")):
        entries = answer.get(key)
        found += (
            [str(e[name]) for e in entries if isinstance(e, dict) and name in e] if isinstance(entries, list) else []
        )
    return found


def smoke_call(kind: str, model: str) -> tuple[str, str]:
    """Path and body of one small question to `model`."""
    message = [{"role": "user", "content": _MESSAGE}]
    if kind == "anthropic":
        return "/v1/messages", json.dumps({"model": model, "max_tokens": 16, "messages": message})
    if kind == "systemone":
        return "/v1/systemone", json.dumps({"model": model, "state": _MESSAGE, "questions": _QUESTIONS})
    if "embed" in model:
        return "/embeddings", json.dumps({"model": model, "input": _MESSAGE})
    return "/chat/completions", json.dumps({"model": model, "messages": message})


def read_reply(status: int, body: bytes) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of an answer with status 200, or None and what is wrong with it."""
    quoted = body[:_QUOTED].decode("utf-8", "replace")
    if status != 200:
        return None, f"{status}: {quoted}"
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None, f"the answer is no JSON: {quoted}"
    return (value, "") if isinstance(value, dict) else (None, f"the answer is no JSON object: {quoted}")


def smoke_complaint(kind: str, answer: Mapping[str, Any]) -> str | None:
    """What an answer to `smoke_call` lacks; None if it is one."""
    if kind == "systemone":
        answers = answer.get("answers")
        missing = [name for name in _QUESTIONS if not isinstance(answers, dict) or name not in answers]
        return f"no answer to {', '.join(missing)}" if missing else None
    wanted = ("content",) if kind == "anthropic" else ("choices", "data")
    if any(isinstance(answer.get(key), list) and answer[key] for key in wanted):
        return None
    return f"the answer has no {' and no '.join(wanted)}"
