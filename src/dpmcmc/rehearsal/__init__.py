# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rehearsal: private sampling tried on simulated records, at no cost of privacy."""

from dpmcmc.rehearsal.automatic import choose, sample_automatically
from dpmcmc.rehearsal.chosen import Choice, Chosen
from dpmcmc.rehearsal.results import Rehearsal, Trial
from dpmcmc.rehearsal.simulate import Covariates, simulate_records
from dpmcmc.rehearsal.trials import rehearse

__all__ = [
    "Choice",
    "Chosen",
    "Covariates",
    "Rehearsal",
    "Trial",
    "choose",
    "rehearse",
    "sample_automatically",
    "simulate_records",
]
