# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a posterior, and pictures of posteriors and budgets."""

from dpmcmc.report.budget import Budget, BudgetEntry, plot_budget
from dpmcmc.report.filing import filing
from dpmcmc.report.page import write_report
from dpmcmc.report.pictures import plot_posterior
from dpmcmc.report.profile import plot_profile

__all__ = [
    "Budget",
    "BudgetEntry",
    "filing",
    "plot_budget",
    "plot_posterior",
    "plot_profile",
    "write_report",
]
