"""How the agent's own process began and ended, judged from what `arci-init` and the engine say. Pure.

Engine flags alone do not tell a chosen 137 from a kill, nor a kill for memory: the report of `arci-init` comes first.
"""

from __future__ import annotations

import errno
import signal

from arci.model.trial import Blame, Ending
from arci.run.facts import TrialFacts
from arci.run.fingerprint import fingerprint, normalise
from arci.run.judgement import Judgement, error, fail

__all__ = ["judge_agent_end", "judge_start"]

_SIGKILL = int(signal.SIGKILL)
_SIGNAL_BASE = 128
_FROM_OUTSIDE = frozenset({1, 2, 3, _SIGKILL, 15})
"""Signals that another process sends (HUP, INT, QUIT, KILL, TERM): `arci-init` ended by one was not at fault."""


def judge_start(facts: TrialFacts) -> Judgement | None:
    """ERROR if the agent's process never began; None if it did. Preflight has started each arm once before."""
    number = facts.init.exec_errno
    if number is not None:
        name = errno.errorcode.get(number, "unknown error")
        return error(Ending.SETUP, Blame.HARNESS, f"the agent's command could not be executed: errno {number} ({name})")
    if facts.init.started:
        return None
    end = facts.exit
    if end is not None and not end.started:
        return error(Ending.SETUP, Blame.ENGINE, f"the agent's process was never started: {end.detail}")
    said = "" if end is None else f"; its guest ended with {_ending_words(end.code, end.signal)} {end.detail}".rstrip()
    return error(Ending.SETUP, Blame.HARNESS, f"the agent's process was never reported as started{said}")


def judge_agent_end(facts: TrialFacts) -> Judgement | None:
    """FAIL or ERROR by the way the agent's process ended; None if it completed and the oracle has the word."""
    if facts.exit is None:
        if facts.troubles:
            return None  # what kept us from learning it is the reason, and decides
        return error(Ending.HARNESS, Blame.HARNESS, "nothing tells how the agent's guest ended")
    if facts.init.code is None and facts.init.signal is None:
        return _unreported(facts)
    if facts.init.signal is not None:
        return _by_signal(facts, facts.init.signal)
    if facts.init.code != 0:
        return _by_code(facts, facts.init.code or 0)
    if facts.failure is not None or (facts.arm_kind == "python" and not facts.has_answer):
        return _crash(facts, "exit 0")
    return None


def _unreported(facts: TrialFacts) -> Judgement:
    """`arci-init` itself is gone without a word: killed from outside, or something that we do not understand."""
    end = facts.exit
    assert end is not None
    if end.killed_by_us:
        return error(Ending.HARNESS, Blame.HARNESS, "the agent was stopped by the harness and no reason is recorded")
    number = _signal_of(end.code, end.signal)
    if number == _SIGKILL and _killed_for_memory(facts):
        return _oom(facts)
    if number in _FROM_OUTSIDE:
        return _killed(number or 0)
    words = _ending_words(end.code, end.signal)
    return error(Ending.HARNESS, Blame.HARNESS, f"the agent's guest ended with {words}, without a report of the agent")


def _by_signal(facts: TrialFacts, number: int) -> Judgement:
    assert facts.exit is not None
    if number != _SIGKILL:
        return _crash(facts, f"signal {number}")
    if facts.exit.killed_by_us:
        return error(Ending.HARNESS, Blame.HARNESS, "the agent was stopped by the harness and no reason is recorded")
    return _oom(facts) if _killed_for_memory(facts) else _killed(number)


def _by_code(facts: TrialFacts, code: int) -> Judgement:
    if facts.arm_kind == "command" and code in facts.infra_exit_codes:
        detail = f"the agent's command ended with {code}, which infra_exit_codes declares as trouble of the machine"
        return error(Ending.HARNESS, Blame.MACHINE, detail)
    if code == _SIGNAL_BASE + _SIGKILL and (facts.init.oom_kills or 0) > 0:
        return _oom(facts)  # a shell hands on that its child was killed
    return _crash(facts, f"exit {code}")


def _killed_for_memory(facts: TrialFacts) -> bool:
    """The kernel's count decides; the engine's flag only where there is no count."""
    if facts.init.oom_kills is not None:
        return facts.init.oom_kills > 0
    return facts.exit is not None and facts.exit.oom_killed is True


def _oom(facts: TrialFacts) -> Judgement:
    source = "the kernel's count" if facts.init.oom_kills is not None else "the engine's flag"
    return fail(Ending.OOM, f"killed for memory ({source})", fingerprint("oom"))


def _killed(number: int) -> Judgement:
    return fail(Ending.KILLED, f"killed by signal {number}, cause unknown", fingerprint("killed", f"signal {number}"))


def _crash(facts: TrialFacts, how: str) -> Judgement:
    oom = facts.init.oom_kills or 0
    note = f" ({oom} process(es) were killed for memory)" if oom > 0 else ""
    line = _crash_line(facts)
    detail = f"{how}{note}: {line}" if line else f"{how}{note}"
    return fail(Ending.CRASH, detail, fingerprint("crash", normalise(line), how))


def _crash_line(facts: TrialFacts) -> str:
    if facts.failure is not None:
        first = next(iter(facts.failure.message.splitlines()), "")
        return f"{facts.failure.kind}: {first}".strip()
    if facts.error_line:
        return facts.error_line
    return "the worker ended without an answer" if facts.arm_kind == "python" and not facts.has_answer else ""


def _signal_of(code: int | None, number: int | None) -> int | None:
    if number is not None:
        return number
    return code - _SIGNAL_BASE if code is not None and code > _SIGNAL_BASE else None


def _ending_words(code: int | None, number: int | None) -> str:
    if number is not None:
        return f"signal {number}"
    return "an unknown code" if code is None else f"exit {code}"
