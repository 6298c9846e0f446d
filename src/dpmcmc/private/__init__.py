# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The privacy boundary: the only code that reads records.

What is exported here is all that the rest of the library may use. Records go in
sealed; released points, bits and noisy sums come out. Each function that the guarantee
rests on has a Guarantee block, and a proof of the same name under ``docs/proofs``.
"""

from dpmcmc.private.acceptance import FullData
from dpmcmc.private.chains import Chains
from dpmcmc.private.decisions import BatchDecision, CorrectedNoise
from dpmcmc.private.distributions import NormalMixture
from dpmcmc.private.each_record import Parts
from dpmcmc.private.histograms import Bins, foresee_counts, release_counts
from dpmcmc.private.influence import PLAIN, Influence
from dpmcmc.private.minibatch import Minibatch
from dpmcmc.private.moves import Released, Test
from dpmcmc.private.ratios import Grid
from dpmcmc.private.records import Records
from dpmcmc.private.sums import Measure, foresee_sum, release_sum
from dpmcmc.private.tape import Tape

__all__ = [
    "PLAIN",
    "BatchDecision",
    "Bins",
    "Chains",
    "CorrectedNoise",
    "FullData",
    "Grid",
    "Influence",
    "Measure",
    "Minibatch",
    "NormalMixture",
    "Parts",
    "Records",
    "Released",
    "Tape",
    "Test",
    "foresee_counts",
    "foresee_sum",
    "release_counts",
    "release_sum",
]
