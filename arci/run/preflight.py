"""Before trial 1: does the place answer, do both arms start, does the environment stand, can the oracle be imported.

One pod per arm, recorded nowhere: it is stopped where the agent would begin to work, so nothing is learnt of how well.
A command cannot be told where its work begins: it is killed as soon as it is known to run, and whatever it has done by
then is judged by no one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import replace

from anyio.abc import TaskGroup

from arci.errors import ArciError, Problem, SpecError
from arci.isolation.base import Findings, Isolation, Pod, RunPlan, Slots, TrialPlan
from arci.isolation.groups import task_group
from arci.manifest.cautions import arms_warnings
from arci.manifest.located import located
from arci.manifest.schedule import schedule
from arci.manifest.source import Finding, dotted
from arci.model.manifest import Manifest
from arci.model.trial import ARMS, Blame, Role, Trial
from arci.run.agent_side import await_import, end_agent, start_agent
from arci.run.attempt import Attempt
from arci.run.boundary_side import await_ready, close_boundary, open_boundary, seal
from arci.run.environment_side import end_environment, environment_path
from arci.run.grading import grade_trial
from arci.run.masking import SHORTEST_SECRET, masked_errors
from arci.run.outside import outside_problems, pace_warnings, where
from arci.run.setting import Setting, make_setting
from arci.run.tool_names import offer_of, tool_cautions, tool_problems
from arci.run.upstreams import ignore

__all__ = ["preflight"]

_IMPORT_KIND = "import"
_NOT_FOUND = "NotFound"
"""The kind of a failure that says all in its words (`guest.usercode`)."""
_NO_SUCH_PROGRAM = ("ended with 126", "ended with 127")


async def preflight(
    manifest: Manifest,
    isolation: Isolation,
    run_id: str,
    *,
    workers: int = 1,
    host_env: Mapping[str, str] | None = None,
) -> Findings:
    """What was found, warnings included. SpecError naming everything that the descriptor must change; ArciError or
    EngineError if the place is not fit. Opens and closes `isolation`; call it before the run store is made."""
    setting = make_setting(manifest, os.environ if host_env is None else host_env)
    with masked_errors(setting.masks):
        findings = await _find(setting, isolation, RunPlan(run_id, manifest, 1), workers)
    return replace(findings, warnings=tuple(setting.masks.text(text) for text in findings.warnings))


async def _find(setting: Setting, isolation: Isolation, plan: RunPlan, workers: int) -> Findings:
    manifest, place = plan.manifest, where(plan.manifest)
    problems = [*_secret_problems(setting, place), *outside_problems(setting)]
    if problems:
        raise SpecError(_located(manifest, problems))
    findings = await isolation.check(replace(plan, workers=workers))
    if findings.problems:
        raise ArciError("\n".join(findings.problems))
    warnings = [*findings.warnings, *_secret_warnings(setting), *pace_warnings(manifest, workers)]
    warnings += arms_warnings(manifest)
    async with isolation.open(plan) as slots:
        for number, arm in enumerate(ARMS):
            probe = _Probe(setting, place, _first_trial(manifest, arm), with_grader=number == 0)
            await probe.run(slots)
            problems += probe.problems
            warnings += [*probe.warnings, *map(str, _located(manifest, probe.cautions))]
    if problems:
        raise SpecError(_located(manifest, list({str(problem): problem for problem in problems}.values())))
    return replace(findings, warnings=tuple(dict.fromkeys(warnings)))


def _located(manifest: Manifest, problems: list[Problem]) -> list[Problem]:
    return located(problems, where(manifest), manifest.experiment_id) if problems else []


def _first_trial(manifest: Manifest, arm: str) -> Trial:
    trial = next(trial for trial in schedule(manifest) if trial.arm == arm)
    return replace(trial, trial_id=f"preflight:{arm}", pair_id="preflight")


def _secret_problems(setting: Setting, place: str) -> list[Problem]:
    problems = []
    for arm in setting.manifest.arms.values():
        for name, host_name in arm.secret_env.items():
            if host_name not in setting.host_env:
                message = f"takes the host's variable {host_name!r}, which is not set; it must be"
                problems.append(Problem(place, f"{arm.name}.env.{name}", message, f"export {host_name}=..."))
    return problems


def _secret_warnings(setting: Setting) -> list[str]:
    values = {name: setting.host_env.get(name, "") for name in setting.manifest.secrets}
    return [
        f"secrets: the value of {name} has fewer than {SHORTEST_SECRET} characters and is not masked"
        for name, value in values.items()
        if 0 < len(value) < SHORTEST_SECRET
    ]


class _Probe:
    """The start of one arm, and what is wrong with it."""

    def __init__(self, setting: Setting, place: str, trial: Trial, *, with_grader: bool) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.cautions: list[Problem] = []
        """Warnings about a place in the descriptor."""
        self._setting = setting
        self._place = place
        self._attempt = Attempt(trial, setting.manifest, 1)
        self._attempt.conversation.on_upstream = ignore  # a command may be quick; nothing is called for it
        self._with_grader = with_grader

    async def run(self, slots: Slots) -> None:
        trial = self._attempt.trial
        async with slots.pod(TrialPlan(trial.trial_id, trial.arm, 1)) as pod, task_group() as group:
            await self._start(pod, group)
            group.cancel_scope.cancel()

    async def _start(self, pod: Pod, group: TaskGroup) -> None:
        attempt = self._attempt
        channel = await open_boundary(pod, attempt, group)
        if channel is not None:
            # Of all conditions, so that a custom fault that cannot be made is found before trial 1.
            faults = [fault for condition in attempt.manifest.conditions for fault in condition.faults]
            await await_ready(pod, attempt, channel, group, rehearsed=faults)
        if self._is_spoilt() or channel is None:
            return
        self._judge_tool_names()
        agent = await start_agent(pod, attempt, self._setting, group)
        if agent is not None:
            await await_import(attempt)
        await end_agent(pod, attempt, agent)
        self._judge_agent()
        if self._is_spoilt(agent_ran=True):
            return
        await seal(attempt, channel)
        await end_environment(pod, attempt)
        self._judge_seal()
        if self._with_grader:
            await self._grade(pod, group)
        await close_boundary(attempt, channel)

    def _is_spoilt(self, *, agent_ran: bool = False) -> bool:
        """True after a problem of the user's; raises for one of ours or the machine's.

        `agent_ran`: a server that died while a command ran was perhaps killed by it, which is the trials' matter.
        """
        for trouble in self._attempt.conversation.troubles:
            if trouble.blame is not Blame.ENVIRONMENT:
                raise ArciError(f"preflight of {self._attempt.arm.name}: {trouble.detail}{_quoted(trouble.stderr)}")
            if agent_ran and trouble.server is not None and self._attempt.arm.kind == "command":
                continue
            path = environment_path(self._setting.manifest.environment, trouble.server)
            detail = trouble.detail.removeprefix("toolset: ")
            self._complain(path, f"{detail}{_quoted(trouble.stderr, beside=detail)}")
        return bool(self.problems)

    def _judge_tool_names(self) -> None:
        manifest, said = self._setting.manifest, self._attempt.conversation
        if not said.servers:  # nothing is known of what there is
            return
        offer = offer_of(manifest, said.tools, said.servers)
        self.problems += [self._problem(finding) for finding in tool_problems(manifest, offer)]
        self.cautions += [self._problem(finding) for finding in tool_cautions(manifest, offer)]

    def _problem(self, finding: Finding) -> Problem:
        return Problem(self._place, dotted(finding.path), finding.message, finding.hint)

    def _judge_agent(self) -> None:
        """Complains of what the user must mend; ArciError where the agent did not start for another reason."""
        attempt, arm = self._attempt, self._attempt.arm
        number = attempt.conversation.init.exec_errno
        if number is not None:
            command = " ".join(arm.argv) or "its image's own command"
            name = errno.errorcode.get(number, f"errno {number}")
            self._complain(f"{arm.name}.command", f"{command}: cannot be executed ({name}: {os.strerror(number)})")
        elif not attempt.conversation.init.started:
            detail = attempt.exit.detail if attempt.exit is not None else ""
            if arm.kind != "command" or not detail:
                raise ArciError(f"preflight of {arm.name}: the agent's process did not start {detail}".rstrip())
            self._complain(f"{arm.name}.command", f"cannot be executed: {detail}")  # no arci-init, no errno
        elif attempt.deadline is not None:
            self._complain(f"{arm.name}.agent", f"{arm.ref}: its import took longer than {attempt.deadline}")
        elif arm.kind == "python" and not attempt.conversation.is_worker_ready:
            self._complain(f"{arm.name}.agent", f"{arm.ref}: cannot be imported: {_import_words(attempt)}")

    def _judge_seal(self) -> None:
        for trouble in self._attempt.conversation.troubles:
            self.warnings.append(f"preflight: no final state of an untouched environment: {trouble.detail}")

    async def _grade(self, pod: Pod, group: TaskGroup) -> None:
        attempt, grader = self._attempt, self._setting.manifest.grader
        await grade_trial(pod, attempt, group)
        grade = attempt.grade
        if grade is None:
            raise ArciError(f"preflight of the grader: {attempt.conversation.troubles[-1].detail}")
        if grade.error_kind is None:
            return
        name, said = grader.ref or " ".join(grader.argv), f"{grade.error_kind}: {grade.message}"
        is_missing = grader.kind == "command" and grade.message.endswith(_NO_SUCH_PROGRAM)
        if grade.error_kind == _IMPORT_KIND or is_missing:
            stderr = attempt.log(Role.GRADER).streams["stderr"].text()
            self._complain("contract.oracle", f"{name}: {said}{_quoted(stderr, beside=grade.message)}")
        else:
            self.warnings.append(f"preflight: {name} has no answer for an untouched environment: {said}")

    def _complain(self, path: str, message: str) -> None:
        self.problems.append(Problem(self._place, path, message))


def _import_words(attempt: Attempt) -> str:
    failure = attempt.failure
    if failure is not None:
        return failure.message if failure.kind == _NOT_FOUND else f"{failure.kind}: {failure.message}"
    ended = attempt.conversation.init
    how = f"signal {ended.signal}" if ended.signal is not None else f"exit {ended.code}"
    return f"the worker ended with {how}{_stderr_words(attempt, Role.AGENT)}"


def _stderr_words(attempt: Attempt, role: Role) -> str:
    return _quoted(attempt.log(role).streams["stderr"].text())


def _quoted(stderr: str, beside: str = "") -> str:
    """The end of what a part printed, for an error message, unless `beside` says it."""
    text = stderr.strip()[-1000:]
    return f"\n{text}" if text and text not in beside else ""
