# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which number of a record enters a decision.

Whatever it is, the boundary clips it, so that no privacy rests on this room.
"""

from dpmcmc.influence.over_responses import Drawn, Listed
from dpmcmc.influence.residual import Residual
from dpmcmc.influence.shifted import Shifted
from dpmcmc.influence.sufficient import SumAlone, Unexplained, unit_statistics
from dpmcmc.influence.unbiased import Centred, Restored, Shrunk

__all__ = [
    "Centred",
    "Drawn",
    "Listed",
    "Residual",
    "Restored",
    "Shifted",
    "Shrunk",
    "SumAlone",
    "Unexplained",
    "unit_statistics",
]
