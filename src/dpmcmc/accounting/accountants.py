# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The accountants, in the order in which tables show them."""

from dpmcmc.accounting.gaussian_noise import GaussianCurve
from dpmcmc.accounting.losses import Losses, compose_losses
from dpmcmc.accounting.registry import Accountant
from dpmcmc.accounting.renyi import IMPROVED, MIRONOV, Divergence, summed
from dpmcmc.accounting.zcdp import ZcdpCurve

__all__ = [
    "BLOCKS",
    "GAUSSIAN",
    "PAPER",
    "PAPER_IMPROVED",
    "SHARPENED",
    "SINGLES",
    "ZCDP",
]

PAPER: Accountant[Divergence] = Accountant(
    "paper", "the paper's theorems and its conversion", summed(MIRONOV), charged=False
)

PAPER_IMPROVED: Accountant[Divergence] = Accountant(
    "paper, improved",
    "the paper's theorems, a better conversion",
    summed(IMPROVED),
    charged=False,
)

SHARPENED: Accountant[Divergence] = Accountant(
    "sharpened Rényi",
    "the paper's method with sharper terms, a better conversion",
    summed(IMPROVED),
)

GAUSSIAN: Accountant[float] = Accountant(
    "Gaussian noise",
    "as if the noisy number were released, not the bit",
    GaussianCurve.of_parts,
)

ZCDP: Accountant[float] = Accountant(
    "zCDP", "concentrated privacy, in closed form", ZcdpCurve.of_parts
)

SINGLES: Accountant[Losses] = Accountant(
    "single bits", "each bit at its worst, composed", compose_losses, sharp=False
)

BLOCKS: Accountant[Losses] = Accountant(
    "blocks", "the best attack on blocks of bits, composed", compose_losses
)
