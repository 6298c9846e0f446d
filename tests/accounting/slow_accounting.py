# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The same costs computed slowly: whole lattices, and dp-accounting's compositions."""

import math

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from numpy.typing import NDArray

Array = NDArray[np.float64]


def whole_values(eta: float, steps: int, cells: int) -> list[Array]:
    """The best attack on 0 … steps bits, on a lattice of both signs that never ends.

    Entry k holds V at L = −kη … kη; beyond, V is 0 or 1 − e^−L.
    """
    h = math.nextafter(eta / cells, math.inf)
    width, whole, shrink = -math.expm1(-h), -math.expm1(-eta), math.exp(-eta)
    values = [np.zeros(1)]
    for k in range(steps):
        far = h * np.arange(k * cells + 1, (k + 2) * cells + 1)
        wide = np.concatenate([np.zeros(2 * cells), values[-1], -np.expm1(-far)])
        rise = np.diff(wide)
        points = len(wide) - 2 * cells
        best = wide[cells:-cells].copy()
        for j in range(cells):
            up, up_rise = wide[cells + j :][:points], rise[cells + j :][:points]
            down, down_rise = wide[j:][:points], rise[j:][:points]
            kappa = math.exp(j * h - eta)
            with np.errstate(divide="ignore", invalid="ignore"):
                bend = (up_rise - shrink * down_rise) / width
                gain = up - down + (up_rise - down_rise) / width
                y = 1 - np.sqrt(kappa * np.maximum(gain, 0) / np.maximum(bend, 0))
            y = np.clip(np.nan_to_num(y, nan=0.0), 0.0, width)
            p = (-math.expm1(j * h - eta) - kappa * y / (1 - y)) / whole
            above = up + y / width * up_rise
            below = down + y / width * down_rise
            best = np.maximum(best, below + p * (above - below))
        values.append(best)
    return values


def slow_pld(
    eta: float, count: int, longest: int, cells: int
) -> pld.PrivacyLossDistribution:
    """A chain of bits in blocks, composed by dp-accounting."""
    step = math.nextafter(eta / cells, math.inf)
    values = whole_values(eta, longest, cells)
    whole, rest = divmod(count, longest)
    pmfs = []
    for length, times in ((longest, whole), (rest, 1)):
        if length and times:
            deltas = values[length][::-1]
            half = len(deltas) // 2
            pmf = pld_pmf.create_pmf_pessimistic_connect_dots(
                step, np.arange(-half, half + 1), deltas
            ).to_dense_pmf()
            pmfs.append(pmf.self_compose(times) if times > 1 else pmf)
    total = pmfs[0]
    for pmf in pmfs[1:]:
        total = total.compose(pmf, 1e-15)
    return pld.PrivacyLossDistribution(total)


def with_normal_noise(
    chain: pld.PrivacyLossDistribution, step: float, mu: float
) -> pld.PrivacyLossDistribution:
    """The chain beside a release with normal noise, on the chain's lattice."""
    noise = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
    return chain.compose(noise)
