# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as a page shows them."""

import math

__all__ = ["NONE", "number"]

NONE = "–"
"""What stands where there is no number."""


def number(value: float, sd: float) -> str:
    """A number with the digits that an sd justifies; a dash if it is none."""
    if not math.isfinite(value):
        return NONE
    places = 1 - math.floor(math.log10(sd)) if 0 < sd < math.inf else 99
    shown = f"{value:,.{max(places, 0)}f}"
    if places > 10 or abs(value) >= 1e12:
        shown = f"{value:.5g}"
    return shown.replace("-", "−") if shown.strip("-0.,") else shown.lstrip("-")
