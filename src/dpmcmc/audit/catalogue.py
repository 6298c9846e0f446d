# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""All attacks and checks, and an audit: one after another, with one rate of alarms."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpmcmc.audit.adaptive import adaptive_attacks
from dpmcmc.audit.attack import (
    CONFIDENCE,
    FALSE_ALARMS,
    Finding,
    Size,
    Trial,
    attempt,
)
from dpmcmc.audit.batches import batch_attacks, batch_checks
from dpmcmc.audit.composed import composed_attacks
from dpmcmc.audit.default_run import default_run_attacks
from dpmcmc.audit.full_data import full_data_attacks
from dpmcmc.audit.methods import method_attacks
from dpmcmc.audit.outside import outside_attacks
from dpmcmc.audit.protected import protection_attacks
from dpmcmc.audit.randomness import randomness_checks
from dpmcmc.audit.releases import release_attacks, release_checks
from dpmcmc.audit.timing import Timing, timings
from dpmcmc.errors import InputError
from dpmcmc.progress import steps_bar

__all__ = ["GROUPS", "Audit", "audit"]

GROUPS: dict[str, Callable[[], Sequence[Trial]]] = {
    "full-data": full_data_attacks,
    "batches": lambda: [*batch_attacks(), *batch_checks()],
    "methods": method_attacks,
    "releases": lambda: [*release_attacks(), *release_checks()],
    "protection": protection_attacks,
    "randomness": randomness_checks,
    "adaptive": adaptive_attacks,
    "composed": composed_attacks,
    "default-run": default_run_attacks,
    "outside": outside_attacks,
}
"""Attacks and checks by what they are about."""


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    findings
        One for each attack and check.
    size
        How long it was to take.
    skipped
        What could not be tried, and why.
    timings
        Time and memory, measured.
    """

    findings: tuple[Finding, ...]
    size: Size
    skipped: tuple[str, ...] = ()
    timings: tuple[Timing, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there was no alarm."""
        return all(one.passed for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Numbers for machines."""
        return {
            "passed": self.passed,
            "size": str(self.size),
            "confidence": CONFIDENCE,
            "false_alarms": FALSE_ALARMS,
            "findings": [one.to_dict() for one in self.findings],
            "skipped": list(self.skipped),
            "timings": [asdict(one) for one in self.timings],
        }

    def __str__(self) -> str:
        heads = ("δ", "certified ε", "ε at least", "of it", "runs")
        lines = [f"{'attack':<64}" + "".join(f"{head:>13}" for head in heads)]
        lines += [_row(one) for one in self.findings if one.certified is not None]
        lines += ["", f"{'check of the randomness':<64}{'p-value':>13}"]
        lines += [
            f"{one.name:<64}{one.p_value:>13.2g}{_alarm(one)}"
            for one in self.findings
            if one.p_value is not None
        ]
        if self.timings:
            title = "measured, not promised: one record is another"
            lines += ["", f"{title:<64}{'time':>13}{'p-value':>13}{'bytes':>13}"]
            lines += map(str, self.timings)
        alarms = sum(not one.passed for one in self.findings)
        lines += [
            "",
            *self.skipped,
            f"All bounds hold together with {CONFIDENCE:.0%} confidence. A program "
            f"without fault raises an alarm in at most {FALSE_ALARMS:.1%} of audits.",
            f"{alarms} alarm{'' if alarms == 1 else 's'}."
            if alarms
            else "No certificate was broken.",
        ]
        return "\n".join(lines)


def _row(one: Finding) -> str:
    part = f"{one.tightness or 0:.0%}"
    return (
        f"{one.name:<64}{one.delta:>13.0e}{one.certified:>13.4g}{one.bound:>13.4g}"
        f"{part:>13}{one.runs:>13,}{_alarm(one)}"
    )


def _alarm(one: Finding) -> str:
    return "" if one.passed else "  ALARM"


def audit(
    size: Size = Size.QUICK,
    *,
    groups: Sequence[str] | None = None,
    progress: bool = False,
) -> Audit:
    """Attack every stage that reads records, with the true code and fresh keys.

    Parameters
    ----------
    size
        "quick" takes about two minutes, "whole" about an hour.
    groups
        Which of `GROUPS` to try; all unless given.
    progress
        Whether to show a bar.

    Returns
    -------
    Audit
        What was found.
    """
    asked = list(GROUPS) if groups is None else list(groups)
    for name in asked:
        if name not in GROUPS:
            raise InputError(
                f"there are no attacks on {name!r}. Choose from {', '.join(GROUPS)}."
            )
    skipped = []
    if groups is None and importlib.util.find_spec("sklearn") is None:
        asked.remove("outside")
        skipped.append("Not tried, as scikit-learn is not installed: from outside.")
    trials = [trial for name in asked for trial in GROUPS[name]()]
    findings = []
    with steps_bar(len(trials), "Auditing", progress, " attacks") as done:
        for trial in trials:
            findings.append(attempt(trial, trial.runs[size], len(trials)))
            done(1)
    measured = timings(size) if groups is None else ()
    return Audit(tuple(findings), size, tuple(skipped), measured)
