# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Before anything is spent: what a budget buys, and a plan tried on simulated records."""

from dpmcmc.rehearsal.planning import plan
from dpmcmc.rehearsal.rehearse import Rehearsal, rehearse
from dpmcmc.rehearsal.simulate import Covariates, simulate_records

__all__ = ["Covariates", "Rehearsal", "plan", "rehearse", "simulate_records"]
