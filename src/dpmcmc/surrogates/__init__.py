# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private control variates: pay once for what every step of a chain shares."""

from dpmcmc.surrogates.release import check_release, release
from dpmcmc.surrogates.settings import ControlVariates, Plan
from dpmcmc.surrogates.sufficient import StatisticsPlan, SufficientStatistics
from dpmcmc.surrogates.sums import (
    Sums,
    check_statistics_release,
    release_statistics,
)
from dpmcmc.surrogates.surrogate import Surrogate

__all__ = [
    "ControlVariates",
    "Plan",
    "StatisticsPlan",
    "SufficientStatistics",
    "Sums",
    "Surrogate",
    "check_release",
    "check_statistics_release",
    "release",
    "release_statistics",
]
