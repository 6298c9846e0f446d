# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of posteriors and budgets, and the report of a run."""

from dpmcmc.report.page import write_report
from dpmcmc.report.spending import Budget, Entry, Part, parts_of

__all__ = ["Budget", "Entry", "Part", "parts_of", "write_report"]
