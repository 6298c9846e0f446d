# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Each bit at its worst on its own: the plain composition of one-bit profiles.

It is looser than the best attack on blocks, since no single question is the worst for
every ε at once, and it is what accountants for other mechanisms do.
"""

import math

import numpy as np
from scipy import signal

from dpmcmc.accounting.blocks import BlockTable, widen
from dpmcmc.accounting.losses import profile_masses

__all__ = ["singles_table"]

_SHORT = 1024


def singles_table(table: BlockTable) -> BlockTable:
    """Compose the one-bit profile of a table with itself, on the same lattice.

    Guarantee
    ---------
    Value k is at least the profile of k bits, and at least value k of the given table,
    up to k times the rounding: the masses of the one-bit profile dominate every bit.
    """
    masses = profile_masses(table.values[1], table.step)
    middle, half = len(masses) // 2, min(len(masses) // 2, table.reach)
    # Beyond the reach of one bit there is only rounding, which is charged below.
    masses = masses[middle - half : middle + half + 1]
    never = table.values[1][0]
    values = [table.values[0]]
    for pattern in table.values[1:]:
        more = half + (len(pattern) - len(values[-1])) // 2
        wide = widen(values[-1], table.step, more, more)
        # A positive loss moves the argument L of the value up.
        if len(masses) <= _SHORT:
            moved = np.correlate(wide, masses, mode="valid")
        else:
            moved = signal.fftconvolve(wide, masses[::-1], mode="valid")
        values.append(np.clip(never + moved, 0.0, 1.0))
    # A sum of n products rounds by n u. A transform is off by at most 16 u log₂ n
    # times the Euclidean lengths of its inputs, of which the values are at most 1.
    points = 2 * len(wide)
    factor = (16 * math.log2(points) + 8) * math.sqrt(points)
    units = len(masses) if len(masses) <= _SHORT else factor * np.linalg.norm(masses)
    rounding = 2.0**-53 * float(units)
    return BlockTable(table.step, tuple(values), table.reach, rounding)
