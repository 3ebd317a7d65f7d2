"""A shrinker that knows nothing of what it shrinks: an immutable value, a predicate, and passes as data.

Each pass proposes simpler values; one that is still interesting becomes the value. Nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Pass", "Shrunk", "shrink", "without_parts"]

T = TypeVar("T")
E = TypeVar("E")

Pass = Callable[[T], Iterable[T]]
"""Proposes simpler values than the one given, the boldest first."""


@dataclass(frozen=True, slots=True)
class Shrunk(Generic[T]):
    """What came of it."""

    value: T
    """The simplest interesting value that was found; the first one where nothing simpler was."""
    was_interesting: bool
    """The value to begin with was interesting. If not, nothing was tried."""
    is_minimal: bool
    """Every proposal of every `single` pass at `value` was asked about and lost what was interesting."""
    calls: int
    """How often the predicate was asked."""


class _Search(Generic[T]):
    """One search: its best value so far, what was asked, and how much may still be."""

    def __init__(
        self, value: T, interesting: Callable[[T], Awaitable[bool]], key: Callable[[T], Hashable], max_calls: int
    ) -> None:
        self.value = value
        self.calls = 0
        self._interesting = interesting
        self._key = key
        self._max_calls = max_calls
        self._known: dict[Hashable, bool] = {}

    @property
    def is_exhausted(self) -> bool:
        return self.calls >= self._max_calls

    async def ask(self, value: T) -> bool:
        """Whether `value` is interesting; False, and nothing learnt, when no more may be asked."""
        key = self._key(value)
        if key not in self._known:
            if self.is_exhausted:
                return False
            self.calls += 1
            self._known[key] = await self._interesting(value)
        return self._known[key]

    async def consider(self, candidate: T) -> bool:
        """Take `candidate` as the value if it is interesting."""
        if not await self.ask(candidate):
            return False
        self.value = candidate
        return True

    def is_lost(self, candidate: T) -> bool:
        """Whether `candidate` was asked about and was not interesting."""
        return self._known.get(self._key(candidate)) is False


async def shrink(
    value: T,
    passes: Sequence[Pass[T]],
    interesting: Callable[[T], Awaitable[bool]],
    *,
    single: Sequence[Pass[T]] = (),
    key: Callable[[T], Hashable] = repr,
    max_calls: int = 500,
) -> Shrunk[T]:
    """The simplest value that `passes` and `single` find while `interesting` holds.

    `single`: passes whose proposals are each one step simpler; only they decide whether the result is minimal. They run
    after `passes`, again and again until a whole round changes nothing. `key`: equal for values that are the same.
    `max_calls`: at least 1; the first call asks about `value` itself.
    """
    search = _Search(value, interesting, key, max_calls)
    if not await search.ask(value):
        return Shrunk(value, False, False, search.calls)
    while await _round(search, (*passes, *single)):
        pass
    is_minimal = bool(single) and all(search.is_lost(c) for each in single for c in each(search.value))
    return Shrunk(search.value, True, is_minimal, search.calls)


async def _round(search: _Search[T], passes: Sequence[Pass[T]]) -> bool:
    """Run every pass until it finds nothing more. True if anything changed."""
    changed = False
    for each in passes:
        while await _improved(search, each) and not search.is_exhausted:
            changed = True
    return changed and not search.is_exhausted


async def _improved(search: _Search[T], proposals: Pass[T]) -> bool:
    for candidate in proposals(search.value):
        if await search.consider(candidate):
            return True
    return False


_FEW = 4


def without_parts(items: Sequence[E]) -> Iterable[tuple[E, ...]]:
    """Simpler sequences, the boldest first, by delta debugging (Zeller and Hildebrandt 2002): keep one part, or leave
    one out, of parts that become smaller and smaller.

    Of a few items, one alone comes first: that needs the fewest questions.
    """
    size = len(items)
    if size > 1 and size <= _FEW:
        yield from ((item,) for item in items)
    part = size if size <= 1 else (size + 1) // 2
    while part >= 1 and size:
        starts = range(0, size, part)
        if part < size and (size > _FEW or part > 1):
            yield from (tuple(items[start : start + part]) for start in starts)
        yield from ((*items[:start], *items[start + part :]) for start in starts)
        part = part // 2 if part > 1 else 0
