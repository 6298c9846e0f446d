# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A ledger of budgets: what may be released from a data set, and what was."""

from dpmcmc.ledger.ledger import Ledger, Reservation
from dpmcmc.ledger.overview import Overview, RunView
from dpmcmc.ledger.refusals import LedgerError, OverBudgetError
from dpmcmc.ledger.tally import Tally, tally_of
from dpmcmc.ledger.verify import Verification

__all__ = [
    "Ledger",
    "LedgerError",
    "OverBudgetError",
    "Overview",
    "Reservation",
    "RunView",
    "Tally",
    "Verification",
    "tally_of",
]
