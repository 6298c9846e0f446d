# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rehearsal: private sampling tried on simulated records, at no cost of privacy."""

from dpmcmc.rehearsal.trials import Rehearsal, Trial, rehearse
from dpmcmc.rehearsal.simulate import simulate_records

__all__ = ["Rehearsal", "Trial", "rehearse", "simulate_records"]
