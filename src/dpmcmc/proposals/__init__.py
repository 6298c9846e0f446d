# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals: how a chain suggests its next point, without looking at any record."""

from dpmcmc.proposals.adaptive import Adaptive, best_acceptance, best_scale
from dpmcmc.proposals.asymmetric import Independence, LogNormalWalk
from dpmcmc.proposals.base import Kernel, Noise, Proposal, Proposed, reach_of
from dpmcmc.proposals.block_moves import Blocks
from dpmcmc.proposals.bounded import BoundedWalk
from dpmcmc.proposals.custom import Custom
from dpmcmc.proposals.discrete import BitFlips, CategoricalWalk, IntegerWalk, Swap
from dpmcmc.proposals.mixture import Mixture
from dpmcmc.proposals.random_walk import PerCoordinate, RandomWalk

__all__ = [
    "Adaptive",
    "BitFlips",
    "Blocks",
    "BoundedWalk",
    "CategoricalWalk",
    "Custom",
    "Independence",
    "IntegerWalk",
    "Kernel",
    "LogNormalWalk",
    "Mixture",
    "Noise",
    "PerCoordinate",
    "Proposal",
    "Proposed",
    "RandomWalk",
    "Swap",
    "best_acceptance",
    "best_scale",
    "reach_of",
]
