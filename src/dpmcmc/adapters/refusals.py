# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals that are the same in every library."""

from collections.abc import Collection

from dpmcmc.adapters.arguments import Bound, listed
from dpmcmc.errors import InputError

__all__ = ["absent", "require_public"]


def absent(bound: Bound) -> str:
    """Which arguments may have been meant to be columns, if some have none."""
    if not bound.left_out:
        return ""
    return (
        f" No column is named like the arguments {listed(bound.left_out)}, which are "
        "at their defaults."
    )


def require_public(name: str, columns: Collection[str], likelihood: str) -> None:
    """Refuse a prior that depends on columns of the records."""
    if columns:
        raise InputError(
            f"the prior of {name!r} depends on the records (the values of "
            f"{listed(sorted(columns))}); what is computed from records outside their "
            f"{likelihood} would escape the privacy guarantee. Use public numbers."
        )
