"""What a request for decisions must be, and its answer: the rules of the System One API. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

__all__ = ["MAX_NESTING", "answer_problem", "request_problem"]

MAX_NESTING = 64
_MOST_CRITERIA = 255
_LEVELS = (2, 10)
_TOLERANCE = 1e-3
"""By which probabilities may miss a sum of 1."""


def request_problem(body: Dict[str, Any]) -> Optional[str]:
    """What is wrong with a request, or None."""
    if not isinstance(body.get("state"), (str, dict, list)):
        return "state: a string, object or array is required"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: a string is required"
    questions = body.get("questions")
    if not isinstance(questions, dict) or not questions:
        return "questions: an object with at least one question is required"
    if _is_deeper(body, MAX_NESTING):
        return f"nested deeper than {MAX_NESTING} levels"
    found = (_question_problem(question) for question in questions.values())
    return next((f"questions.{name}: {p}" for name, p in zip(questions, found) if p is not None), None)  # noqa: B905


def _question_problem(question: Any) -> Optional[str]:
    if not isinstance(question, dict):
        return "an object is required"
    kind, criteria = question.get("type"), question.get("criteria")
    if kind == "noul":
        return None if criteria is None or isinstance(criteria, dict) else "criteria: an object is allowed"
    if kind == "choice":
        fits = isinstance(criteria, dict) and 1 <= len(criteria) <= _MOST_CRITERIA
        return None if fits else f"criteria: an object of 1 to {_MOST_CRITERIA} is required"
    if kind == "score":
        fits = isinstance(criteria, (list, dict)) and _LEVELS[0] <= len(criteria) <= _LEVELS[1]
        return None if fits else f"criteria: {_LEVELS[0]} to {_LEVELS[1]} levels are required"
    return "type: noul, choice or score is required"


def answer_problem(body: Any, request: Dict[str, Any], pin: Optional[str]) -> Optional[str]:
    """What is wrong with a 200 answer, or None. `pin`: the model that must have answered; None: any."""
    answers = body.get("answers") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(answers, dict):
        return "it has no answers"
    if pin is not None and body.get("model") != pin:
        return f"model {body.get('model')!r} answered; {pin!r} is pinned"
    questions: Dict[str, Any] = request["questions"]
    if set(answers) != set(questions):
        return f"it answers {sorted(answers)}; {sorted(questions)} were asked"
    for name, question in questions.items():
        problem = _answer_problem(answers[name], question)
        if problem is not None:
            return f"answers.{name}: {problem}"
    return None


def _answer_problem(answer: Any, question: Dict[str, Any]) -> Optional[str]:
    kind = question["type"]
    if not isinstance(answer, dict) or answer.get("type") != kind:
        return f"type {kind!r} is required"
    if kind == "noul":
        return None if _is_probability(answer.get("noul")) else "noul: a probability is required"
    criteria = question["criteria"]
    options = set(criteria) if isinstance(criteria, dict) else {str(level) for level in range(len(criteria))}
    if kind == "choice" and answer.get("choice") not in options:
        return f"choice: {answer.get('choice')!r} was not asked"
    if kind == "score" and not _is_number(answer.get("score")):
        return "score: a number is required"
    return _spread_problem(answer.get("probabilities"), options)


def _spread_problem(probabilities: Any, options: set[str]) -> Optional[str]:
    if not isinstance(probabilities, dict) or set(probabilities) != options:
        return "probabilities: one for each option is required"
    if not all(_is_probability(p) for p in probabilities.values()):
        return "probabilities: each must be from 0 to 1"
    total = sum(probabilities.values())
    return None if abs(total - 1) <= _TOLERANCE else f"probabilities: they sum to {total:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_probability(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)
