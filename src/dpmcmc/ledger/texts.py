# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Short texts: names and notes that people give, and fractions that people read."""

import getpass
import math
from fractions import Fraction

from dpmcmc.ledger.refusals import LedgerError

__all__ = ["analyst_or_user", "one_line", "percent", "rounded"]


def one_line(name: str, value: object, *, empty: bool = True) -> str:
    """Return a text that is safe to store and to show on one line."""
    if not isinstance(value, str) or not (empty or value.strip()):
        raise LedgerError(f"{name} is {value!r}; it must be text. Give a name.")
    if not value.isprintable() or len(value) > 1000:
        raise LedgerError(
            f"{name} is {value[:60]!r}; it must be one line of at most 1,000 "
            "characters. Shorten it."
        )
    return value


def analyst_or_user(analyst: str | None) -> str:
    """Return a note of who asked: the user of the operating system by default."""
    if analyst is not None:
        return one_line("analyst", analyst, empty=False)
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return "unknown"


def rounded(fraction: Fraction, *, up: bool) -> float:
    """Return a fraction in ten-thousandths, rounded up or down."""
    parts = fraction * 10_000
    whole = math.ceil(parts) if up else math.floor(parts)
    return min(whole, 10**12) / 10_000  # hardly any noise costs more than a float holds


def percent(fraction: float) -> str:
    """Show a fraction that was rounded in percent, with two digits."""
    if fraction > 1000:
        return "more than 100,000%"
    return f"{100 * fraction:.2f}".rstrip("0").rstrip(".") + "%"
