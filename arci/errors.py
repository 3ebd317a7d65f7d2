"""The errors that cross floors, each with the exit code that a command ends with. Pure; standard library only.

An error text reads `where: what is wrong, with the value; what is allowed.` and, where one helps, `Hint: ...`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "EXIT_ERROR",
    "EXIT_NO_ENGINE",
    "EXIT_USAGE",
    "ArciError",
    "EngineError",
    "EngineUnavailable",
    "Problem",
    "SpecError",
    "StoreError",
    "UsageError",
]

EXIT_ERROR = 3
"""The verdict ERROR, and every trouble of ours or the machine's."""
EXIT_USAGE = 64
"""Usage and descriptor errors, so that no gate code is ambiguous."""
EXIT_NO_ENGINE = 69
"""No container engine answers."""


def _sentence(text: str) -> str:
    """`text` with a full stop, unless it ends as a sentence does: what comes after it is another."""
    return text if text.rstrip().endswith((".", "!", "?", ":", ";")) else f"{text.rstrip()}."


class ArciError(Exception):
    """Something that a person must read. `exit_code` is what a command ends with."""

    exit_code = EXIT_ERROR

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{_sentence(self.message)} Hint: {self.hint}"


class UsageError(ArciError):
    """The command was called wrongly."""

    exit_code = EXIT_USAGE


class Problem:
    """One mistake in a descriptor: where it stands and what is allowed there."""

    __slots__ = ("hint", "message", "path", "where")

    def __init__(self, where: str, path: str, message: str, hint: str | None = None) -> None:
        self.where = where  # "file:line", or the file alone
        self.path = path  # dotted path in the descriptor, such as conditions[0].faults[1].name; "" for the whole
        self.message = message  # what is wrong, with the value; what is allowed
        self.hint = hint

    def __str__(self) -> str:
        path = f" {self.path}:" if self.path else ""
        message = f"{_sentence(self.message)} Hint: {self.hint}" if self.hint else self.message
        return f"{self.where}:{path} {message}"

    def __repr__(self) -> str:
        return f"Problem({str(self)!r})"


class SpecError(ArciError):
    """The user wrote a descriptor wrongly. Carries every problem, not the first one alone."""

    exit_code = EXIT_USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(p) for p in problems))
        self.problems = tuple(problems)


class EngineUnavailable(ArciError):
    """No container engine answers; the message names the endpoint that was tried and why it was chosen."""

    exit_code = EXIT_NO_ENGINE


class EngineError(ArciError):
    """The engine, or the machine under it, failed an operation: trial ERROR, never the agent's fault."""

    def __init__(self, operation: str, message: str, *, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(f"{operation}: {message}", hint=hint)
        self.operation = operation
        self.status = status  # HTTP status of the engine's answer, where there was one


class StoreError(ArciError):
    """A run store cannot be read or written; the message names the file."""
