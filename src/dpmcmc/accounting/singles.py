# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Each bit at its worst on its own: the plain composition of one-bit profiles.

It is looser than the best attack on blocks, since no single question is the worst for
every ε at once, and it is what accountants for other mechanisms do.
"""

import numpy as np
from numpy.typing import NDArray

from dpmcmc.accounting.blocks import BlockTable, widen
from dpmcmc.accounting.losses import profile_masses

__all__ = ["singles_table"]

Array = NDArray[np.float64]

_ROUNDING = 512 * 2.0**-53
_NEGLIGIBLE = 1e-15


def singles_table(table: BlockTable) -> BlockTable:
    """Compose the one-bit profile of a table with itself, on the same lattice.

    Guarantee
    ---------
    Value k is at least the profile of k bits, and at least value k of the given table,
    up to k times the rounding: the masses of the one-bit profile dominate every bit.
    """
    masses, outside = _core(profile_masses(table.values[1], table.step))
    half = len(masses) // 2
    never = table.values[1][0] + outside
    values = [table.values[0]]
    for pattern in table.values[1:]:
        more = half + (len(pattern) - len(values[-1])) // 2
        wide = widen(values[-1], table.step, more, more)
        # A positive loss moves the argument L of the value up.
        values.append(never + np.correlate(wide, masses, mode="valid"))
    return BlockTable(table.step, tuple(values), _ROUNDING)


def _core(masses: Array) -> tuple[Array, float]:
    """Cut off both ends as long as they hold next to nothing; return what they held."""
    middle = len(masses) // 2
    both = masses[middle:].copy()
    both[1:] += masses[:middle][::-1]
    held = np.cumsum(both[::-1])[::-1]
    half = max(1, int(np.count_nonzero(held > _NEGLIGIBLE)) - 1)
    outside = float(held[half + 1]) if half < middle else 0.0
    return masses[middle - half : middle + half + 1], outside
