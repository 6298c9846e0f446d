# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Audits of the program as it is, again and again: no alarm."""

import pytest

from dpmcmc.audit import Size
from dpmcmc.audit.attack import attempt
from dpmcmc.audit.catalogue import GROUPS

GROUPS_AGAIN = (
    "full-data",
    "batches",
    "releases",
    "protection",
    "randomness",
    "adaptive",
    "composed",
)
LESS = 5
"""Fewer runs than a quick audit has: how often alarms are false does not change."""


@pytest.mark.slow
def test_twenty_audits_raise_no_alarm() -> None:
    """Of programs without fault, one in fifty raises an alarm in twenty audits."""
    trials = [trial for group in GROUPS_AGAIN for trial in GROUPS[group]()]
    alarms = [
        trial.name
        for _ in range(20)
        for trial in trials
        if not attempt(
            trial, max(1, trial.runs[Size.QUICK] // LESS), len(trials)
        ).passed
    ]
    assert alarms == []
