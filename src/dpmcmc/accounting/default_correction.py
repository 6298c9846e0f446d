# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The correction V_cor for C = 2 with the least sup-error, as positions and weights.

N(0, C) + V_cor should be close to a standard logistic law. Among all symmetric laws of
V_cor the one below has the least largest difference of the two distribution functions:
five atoms, whose error touches its bound at alternating signs. The tests measure the
sup-error and the alternation.
"""

__all__ = ["POSITIONS", "VARIANCE", "WEIGHTS"]

VARIANCE = 2.0
"""The C of this correction, the one of the paper."""

_NEAR, _FAR = 2.9513429, 9.2211369
_NEAR_WEIGHT, _FAR_WEIGHT = 0.1317955 / 2, 0.0022353 / 2

POSITIONS = (-_FAR, -_NEAR, 0.0, _NEAR, _FAR)
"""Where V_cor has its atoms."""

WEIGHTS = (
    _FAR_WEIGHT,
    _NEAR_WEIGHT,
    1 - 2 * (_NEAR_WEIGHT + _FAR_WEIGHT),
    _NEAR_WEIGHT,
    _FAR_WEIGHT,
)
"""How much weight each atom has."""
