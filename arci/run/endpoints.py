"""What an experiment's upstreams are asked before anything is paid for: a list of models, and one smoke call each.

Made through the egress, as every outside call. Nothing of it is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arci.errors import EXIT_ERROR, SpecError
from arci.run.endpoint_calls import listed_models, models_path, read_reply, smoke_call, smoke_complaint

__all__ = ["EXIT_UNLISTED", "Examination", "Row", "examine_endpoints"]

EXIT_UNLISTED = 4
"""A pinned model is not in its endpoint's list."""


@dataclass(frozen=True, slots=True)
class Row:
    """One check of one upstream."""

    upstream: str
    check: str
    """`allowed` (key, host, address), `endpoint`, `model` or `smoke`."""
    state: str
    """`ok`, `skipped`, `unlisted` or `failed`."""
    detail: str


@dataclass(frozen=True, slots=True)
class Examination:
    rows: tuple[Row, ...]

    @property
    def exit_code(self) -> int:
        """0, 4 where all that is wrong is a model that is not listed, 3 else."""
        states = {row.state for row in self.rows}
        if "failed" in states:
            return EXIT_ERROR
        return EXIT_UNLISTED if "unlisted" in states else 0

    @property
    def summary(self) -> str:
        """The exit code in words."""
        if self.exit_code == EXIT_UNLISTED:
            return "a pinned model is not listed (--allow-unlisted-model goes on)"
        return "everything answers" if self.exit_code == 0 else "not everything answers"

    def to_document(self) -> dict[str, Any]:
        """For `--json`."""
        return {"checks": [asdict(row) for row in self.rows], "exit_code": self.exit_code}


async def examine_endpoints(
    models: Sequence[Mapping[str, Any]],
    decisions: Mapping[str, Any] | None,
    env: Mapping[str, str],
    *,
    where: str,
    allow_unlisted: bool = False,
) -> Examination:
    """`models` and `decisions` of a manifest document; `env` is the host's. Nothing is called where a key, host or
    address is wrong."""
    from arci.run.egress.egress import open_egress

    called = [*models, *([decisions] if decisions is not None and decisions["upstream"] == "http" else [])]
    if not called:
        return Examination(())
    rows: list[Row] = []
    try:
        async with open_egress(models, decisions, env, max_model_calls=len(called), where=where) as egress:
            for entry in called:
                rows.append(Row(entry["name"], "allowed", "ok", _allowed(entry, env)))
                rows += await _Endpoint(egress, entry, allow_unlisted=allow_unlisted).rows()
    except SpecError as error:
        rows += [Row(problem.path or problem.where, "allowed", "failed", str(problem)) for problem in error.problems]
    return Examination(tuple(rows))


def _allowed(entry: Mapping[str, Any], env: Mapping[str, str]) -> str:
    key = entry["key"]
    if key is None:
        return f"{entry['base_url']}, without a key"
    return f"{entry['base_url']}, with {key}" if env.get(key) else f"{entry['base_url']}, {key} is not set"


class _Endpoint:
    """The calls to one upstream, and what came of them."""

    def __init__(self, egress: Any, entry: Mapping[str, Any], *, allow_unlisted: bool) -> None:
        self._egress = egress
        self._name: str = entry["name"]
        self._kind: str = entry.get("kind", "systemone")
        self._model: str | None = entry["model"]
        self._allow_unlisted = allow_unlisted

    async def rows(self) -> list[Row]:
        listing, complaint = await self._ask("GET", models_path(self._kind), "")
        if listing is None:
            return [self._row("endpoint", "failed", complaint)]
        found = listed_models(listing)
        rows = [self._row("endpoint", "ok", f"{len(found)} models listed"), self._model_row(found)]
        if rows[-1].state != "unlisted":
            rows.append(await self._smoke())
        return rows

    def _model_row(self, listed: Sequence[str]) -> Row:
        if self._model is None:
            return self._row("model", "skipped", "none is pinned: an agent may ask any")
        if self._model in listed:
            return self._row("model", "ok", self._model)
        near = ", ".join(listed[:10]) or "none"
        if self._allow_unlisted:
            return self._row("model", "skipped", f"{self._model} is not listed, which is allowed here")
        return self._row("model", "unlisted", f"{self._model} is not listed; listed: {near}")

    async def _smoke(self) -> Row:
        if self._model is None:
            return self._row("smoke", "skipped", "no model to ask")
        path, body = smoke_call(self._kind, self._model)
        answer, complaint = await self._ask("POST", path, body)
        if answer is None:
            return self._row("smoke", "failed", complaint)
        lacking = smoke_complaint(self._kind, answer)
        said = str(answer.get("model", "no model named"))
        return self._row("smoke", "failed" if lacking else "ok", lacking or f"answered by {said}")

    async def _ask(self, method: str, path: str, body: str) -> tuple[dict[str, Any] | None, str]:
        """The JSON object of the answer, or None and why there is none."""
        from arci.run.egress.failure import CallFailed

        try:
            reply = await self._egress.ask(self._name, method, path, body)
        except CallFailed as error:
            return None, f"{method} {path}: {error}"
        answer, complaint = read_reply(reply.status, reply.body)
        return answer, f"{method} {path}: {complaint}"

    def _row(self, check: str, state: str, detail: str) -> Row:
        return Row(self._name, check, state, detail)
