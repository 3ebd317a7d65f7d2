"""Reruns, minimised failures, bundles and replays told for people. Pure: values in, text out, all of it printable."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arci.model.canonical import canonical
from arci.report.escape import clip, printable

if TYPE_CHECKING:
    from arci.bundle.document import BundleDocument
    from arci.diagnose.minimise import Minimised
    from arci.diagnose.replaying import Reproduction
    from arci.diagnose.rerun import Rerun

__all__ = ["render_bundled", "render_contents", "render_minimised", "render_reproduction", "render_rerun"]

_WIDTH = 500
_MIB = 1 << 20


def render_rerun(found: Rerun) -> str:
    """The outcome now, beside the recorded one."""
    record = found.result.record
    lines = [
        f"{record['outcome']}  {record['trial_id']}  ({record['ending']})",
        f"  detail       {record['detail']}",
        f"  recorded     {found.recorded['outcome']} {found.recorded['ending']}",
        f"  failure      {_same(found.is_same_failure, record['fingerprint'], found.recorded['fingerprint'])}",
        f"  trace        {'the same steps' if found.is_same_trace else 'other steps'}",
    ]
    return _text(lines)


def render_minimised(found: Minimised, out: Path) -> str:
    """What is left, and what it may be called."""
    count = len(found.after.faults)
    trials = f"{found.trials} trial{'' if found.trials == 1 else 's'}"
    of = f"{len(found.before.faults)} fault{'' if len(found.before.faults) == 1 else 's'}"
    lines = [f"{found.kind}: {count} of {of}, {trials}", f"  {found.reason}"]
    lines += [f"  fault        {f['name']} on {f['tool'] or 'every tool'} {_occurrence(f)}" for f in found.after.faults]
    if found.after.task != found.before.task:
        lines.append(f"  task         {canonical(found.after.task).decode('utf-8')}")
    lines += [
        f"  fails        {found.tally.failed} of {found.tally.tried}",
        f"  written to   {out}",
        f"Next: {shlex.join(('arci', 'bundle', str(out), '--out', _bundle_of(out)))}",
        *_after_repair(found.document.get("volatile", {})),
    ]
    return _text(lines)


def _bundle_of(out: Path) -> str:
    """`x.arci.json` gives `x.arci`."""
    return f"{str(out).removesuffix('.json').removesuffix('.arci')}.arci"


def _after_repair(volatile: Mapping[str, Any]) -> Iterator[str]:
    """A reproducer holds the agent as it was; the descriptor's own trial, of the same seed, is of what is there."""
    descriptor, of = volatile.get("descriptor"), volatile.get("reproduces", {})
    if isinstance(descriptor, str):
        where = ("--arm", of["arm"], "--condition", of["condition_id"], "--index", of["index"], "--n", of["n_per_arm"])
        yield f"Repaired? {shlex.join(('arci', 'try', descriptor, *map(str, where)))}"


def render_bundled(document: BundleDocument, out: Path) -> str:
    """What was written."""
    holds = f"{len(document.layers)} layers" if document.isolation == "docker" else "the source tree"
    if document.isolation == "docker" and not document.layers:
        holds = "references to its images"
    lines = [
        f"{out}: {document.trial_id} with {holds}, {out.stat().st_size / _MIB:.1f} MiB",
        f"Next: arci replay {out}",
    ]
    return _text(lines)


def render_contents(inside: Mapping[str, Any]) -> str:
    """What `arci bundle --list` tells. All of it but whose it is, is the bundle's own word."""
    trial, made_by = inside["trial"], inside["made_by"]
    own = "by you, on this machine" if made_by["is_own"] else f"by somebody else (key {made_by['key_id']})"
    lines = [
        f"{trial['trial_id']}  {trial['outcome']}  ({trial['ending']})",
        f"  experiment   {inside['experiment_id']}, run with {inside['isolation']}, arci {inside['arci_version']}",
        f"  detail       {trial['detail']}",
        f"  fingerprint  {trial['fingerprint']}",
        f"  events       {trial['events']}, faults: {', '.join(trial['faults']) or 'none'}",
        f"  made         {own}",
        "what a replay starts:",
        *(f"  {run['role']:<11}  {_program(run)}" for run in inside["runs"]),
        *_images(inside),
        f"logs: {_logs(inside)}; evidence: {', '.join(inside['evidence']) or 'none'}",
    ]
    return _text(lines)


def render_reproduction(found: Reproduction) -> str:
    """The verdict, and what it rests on."""
    lines = [f"{found.verdict.value}: {found.reason}"]
    if found.recorded:
        lines.append(
            f"  recorded     {found.recorded['outcome']} {found.recorded['ending']}: {found.recorded['detail']}"
        )
    if found.result is not None:
        record = found.result.record
        lines.append(f"  now          {record['outcome']} {record['ending']}: {record['detail']}")
        lines.append(f"  trace        {'the same steps' if found.is_same_trace else 'other steps, or another order'}")
    return _text(lines)


def _same(is_same: bool, now: object, recorded: object) -> str:
    return f"the same: {now}" if is_same else f"{now}; {recorded} was recorded"


def _occurrence(fault: Mapping[str, Any]) -> str:
    occurrence = fault["occurrence"]
    if occurrence["kind"] == "every":
        return "at every call"
    return f"at call {occurrence['n']}{' and later' if occurrence['kind'] == 'from' else ''}"


def _program(run: Mapping[str, Any]) -> str:
    program = run["ref"] or " ".join(map(str, run["argv"])) or "the image's own command"
    return f"{program}  (env: {', '.join(run['env'])})" if run["env"] else str(program)


def _images(inside: Mapping[str, Any]) -> Iterator[str]:
    if inside["isolation"] == "process":
        yield f"source tree: {inside['source_bytes'] / _MIB:.1f} MiB, which a replay runs as you, without isolation"
        return
    yield "images:"
    for key, image in inside["images"].items():
        size = f"{image['bytes'] / _MIB:.1f} MiB in {image['layers']} layers" if image["layers"] else "by reference"
        yield f"  {key:<11}  {image['sha256'][:12]}  {image['platform']}  {size}"


def _logs(inside: Mapping[str, Any]) -> str:
    return ", ".join(f"{log['role']} {log['stream']} {log['bytes']} bytes" for log in inside["logs"]) or "none"


def _text(lines: list[str]) -> str:
    return "".join(f"{clip(printable(line), _WIDTH)}\n" for line in lines)
