"""Answers -> plan, and a problem for every option that is wrong. Reads nothing but which files there are."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from arci.errors import Problem
from arci.faults.registry import BUILTIN
from arci.model.trial import ARMS
from arci.scaffold.answers import Answers, ArmPlan, Plan, ServerPlan
from arci.scaffold.programs import Place, placed
from arci.scaffold.words import REFERENCE, parse_command, parse_fault, parse_snapshot, parse_task

__all__ = ["WHERE", "plan_of"]

T = TypeVar("T")

WHERE = "arci init"
_REFERENCE = "module:function is allowed, such as agent:run."


def plan_of(answers: Answers, root: Path) -> tuple[Plan, list[Problem]]:
    """The plan for a descriptor in the directory `root`; with problems, what they concern is missing in it."""
    gathering = _Gathering(answers, root)
    return gathering.plan(), gathering.problems


@dataclass
class _Gathering:
    answers: Answers
    root: Path
    problems: list[Problem] = field(default_factory=list)

    def plan(self) -> Plan:
        said = self.answers
        arms = {arm: self._arm(arm) for arm in ARMS}
        self._complain_of_unused()
        server = self._server()
        toolset = self._reference("--toolset", said.toolset)
        self._one_of({"--toolset": said.toolset, "--mcp-server": said.mcp_server or said.mcp_server_image})
        self._one_of({"--oracle": said.oracle, "--grader": said.grader})
        task, task_file = self._read("--task", said.task, parse_task) or ({}, None)
        if task_file is not None and not (self.root / task_file).is_file():
            self._complain("--task", f"{task_file}: there is no such file below {self.root}.")
        faults = [self._read("--fault", text, self._fault) for text in said.faults]
        return Plan(
            experiment_id=said.name,
            arms=arms,
            toolset=toolset,
            server=server,
            oracle=self._reference("--oracle", said.oracle),
            grader=self._argv("--grader", said.grader, Place.PROJECT),
            faults=tuple(fault for fault in faults if fault is not None),
            task=task,
            task_file=task_file,
            backend=self._backend,
        )

    @property
    def _backend(self) -> str:
        said = self.answers
        images = (said.image, said.baseline_image, said.candidate_image, said.mcp_server_image)
        return "docker" if said.docker or any(images) else "process"

    def _arm(self, arm: str) -> ArmPlan:
        said = self.answers
        ref: str | None = getattr(said, arm)
        command = getattr(said, f"{arm}_command") or said.command
        image = getattr(said, f"{arm}_image") or said.image
        if ref is not None and getattr(said, f"{arm}_command"):
            self._complain(f"--{arm}", f"and --{arm}-command are both given; one of the two is allowed.")
        elif ref is not None:
            return ArmPlan(ref=self._reference(f"--{arm}", ref), image=image)
        elif command is None and image is None:
            self._complain(f"--{arm}", "is missing; module:function, or a command (--command), or an --image with one.")
        argv = self._argv(f"--{arm}-command" if getattr(said, f"{arm}_command") else "--command", command, Place.AGENT)
        return ArmPlan(argv=argv, image=image)

    def _complain_of_unused(self) -> None:
        said = self.answers
        if said.command and all(getattr(said, arm) or getattr(said, f"{arm}_command") for arm in ARMS):
            self._complain("--command", "is of no arm: both are given their own; one way is allowed.")
        if said.image and said.baseline_image and said.candidate_image:
            self._complain("--image", "is of no arm: both are given their own; one way is allowed.")

    def _server(self) -> ServerPlan | None:
        said = self.answers
        if said.mcp_server is None and said.mcp_server_image is None:
            if said.snapshot is not None:
                self._complain("--snapshot", "is of an --mcp-server, and none is given; a toolset has .snapshot().")
            return None
        argv = self._argv("--mcp-server", said.mcp_server, Place.SERVER)
        return ServerPlan(argv, said.mcp_server_image, self._read("--snapshot", said.snapshot, parse_snapshot))

    def _argv(self, option: str, text: str | None, place: Place) -> tuple[str, ...]:
        argv = self._read(option, text, parse_command)
        if argv is None:
            return ()
        is_in_own_image = place is Place.SERVER and self.answers.mcp_server_image is not None
        return argv if is_in_own_image else placed(argv, place, self.root)

    def _reference(self, option: str, text: str | None) -> str | None:
        if text is not None and not REFERENCE.fullmatch(text):
            self._complain(option, f"{text!r} is no reference; {_REFERENCE}")
            return None
        return text

    def _read(self, option: str, text: str | None, parse: Callable[[str], T]) -> T | None:
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            self._complain(option, str(error))
            return None

    def _fault(self, text: str) -> Any:
        builtin: Collection[str] = BUILTIN
        return parse_fault(text, builtin)

    def _one_of(self, given: dict[str, str | None]) -> None:
        names = " or ".join(given)
        there = [name for name, value in given.items() if value is not None]
        if len(there) > 1:
            self._complain(there[0], f"and {there[1]} are both given; one of the two is allowed.")
        elif not there:
            self._complain(names, "is missing; one of the two is required.")

    def _complain(self, option: str, message: str) -> None:
        problem = Problem(WHERE, option, message)
        if str(problem) not in map(str, self.problems):
            self.problems.append(problem)
