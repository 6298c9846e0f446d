# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The one kind of error that a ledger raises."""

from dpmcmc.errors import InputError

__all__ = ["LedgerError"]


class LedgerError(InputError):
    """A ledger cannot be read, or does not allow what was asked."""
