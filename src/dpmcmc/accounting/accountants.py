# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The accountants, in the order in which tables show them."""

from dpmcmc.accounting.curves import GaussianCurve, ZcdpCurve
from dpmcmc.accounting.losses import LossPart, compose
from dpmcmc.accounting.registry import Accountant
from dpmcmc.accounting.renyi import Divergence, improved, mironov, summed

__all__ = ["BLOCKS", "GAUSSIAN", "PAPER", "SHARPENED", "ZCDP"]

PAPER: Accountant[Divergence] = Accountant(
    "paper",
    "the paper's theorems, as published",
    summed(mironov),
    certifies=False,
)

SHARPENED: Accountant[Divergence] = Accountant(
    "sharpened Rényi",
    "the paper's method with sharper terms and conversion",
    summed(improved),
)

GAUSSIAN: Accountant[float] = Accountant(
    "Gaussian noise",
    "exact for released numbers; a decision counts as its noisy number",
    GaussianCurve.of_parts,
)

ZCDP: Accountant[float] = Accountant(
    "zCDP", "concentrated privacy, in closed form", ZcdpCurve.of_parts
)

BLOCKS: Accountant[list[LossPart]] = Accountant(
    "blocks", "the best attack on blocks of decisions, composed", compose
)
