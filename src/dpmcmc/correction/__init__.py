# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections: distributions of V_cor with N(0, C) + V_cor close to Logistic(0, 1).

No records are involved. `correction_for` looks one up or fits it; a user may build
another.
"""

from dpmcmc.correction.correction import Correction
from dpmcmc.correction.programme import linear_programme
from dpmcmc.correction.stored import correction_for

__all__ = ["Correction", "correction_for", "linear_programme"]
