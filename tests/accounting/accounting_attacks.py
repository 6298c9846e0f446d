# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks whose success is computed exactly: lower bounds that no certificate may beat.

Each builds two neighbouring data sets and a play of the adversary, enumerates what can
be released, and returns the largest P(S) − e^ε Q(S) of that play.
"""

import itertools
import math

import numpy as np
from scipy.special import expit, ndtr

from dpmcmc.accounting.noise_mixture import POSITIONS, WEIGHTS


def bounded_range_profile(eta: float, epsilon: np.ndarray | float) -> np.ndarray:
    """Return the largest P(S) − e^ε Q(S) over all bits of log-odds range η."""
    inside = np.expm1((np.clip(epsilon, -eta, eta) - eta) / 2) ** 2 / -math.expm1(-eta)
    outside = np.maximum(0.0, -np.expm1(epsilon))
    return np.where(np.abs(epsilon) < eta, inside, outside)


def lattice_attack(eta: float, steps: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Play T bits of log-odds range η, moving the loss by lattice steps only.

    Every move lands on the lattice, so that nothing is interpolated: the value is that
    of a play which exists. Returns ε and the δ that the play achieves.
    """
    h = eta / cells
    x = h * np.arange(cells + 1)
    accept = np.expm1(x - eta) / np.expm1(-eta)
    reach = steps * cells
    loss = h * np.arange(-2 * reach, 2 * reach + 1)
    value = np.maximum(0.0, -np.expm1(-loss))
    for _ in range(steps):
        best = value.copy()
        inner = slice(cells, len(value) - cells)
        for j in range(cells + 1):
            up = value[cells + j : len(value) - cells + j]
            down = value[j : len(value) - 2 * cells + j]
            move = accept[j] * up + (1 - accept[j]) * down
            best[inner] = np.maximum(best[inner], move)
        value = best
    middle = slice(reach, 3 * reach + 1)
    return -loss[middle][::-1], value[middle][::-1]


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return the largest P(S) − e^ε Q(S) over sets S of outcomes."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def full_data_play(clip: float, records: int, offsets: np.ndarray) -> np.ndarray:
    """Return the distributions of T bits for two data sets; offsets are public parts.

    ``offsets[t]`` holds one public part for each history of t bits. In one data set the
    last record's ratio is the clip at every step, in the other minus the clip.
    """
    rest = (records - 1) * clip / 3
    played = []
    for last in (clip, -clip):
        bits = np.ones(1)
        for public in offsets:
            p = expit(rest + last + public)
            bits = np.stack([bits * p, bits * (1 - p)], axis=1).ravel()
        played.append(bits)
    return np.array(played)


def batch_play(
    ratios: np.ndarray,
    batch: int,
    offsets: np.ndarray,
    *,
    replacement: bool = False,
) -> np.ndarray:
    """Return the distribution of T bits of the batch test with fixed public parts.

    ``ratios`` are the scaled ratios of all records, one row for each step.
    """
    records = ratios.shape[1]
    draws = (
        itertools.product(range(records), repeat=batch)
        if replacement
        else itertools.combinations(range(records), batch)
    )
    chosen = np.array(list(draws))
    bits = np.ones(1)
    for row, public in zip(ratios, offsets, strict=True):
        drawn = row[chosen]
        mean = drawn.sum(axis=1) / math.sqrt(batch) + public
        scale = np.sqrt(2.0 - drawn.var(axis=1))
        each = sum(
            w * ndtr((mean - a) / scale)
            for a, w in zip(POSITIONS, WEIGHTS, strict=True)
        )
        p = float(np.mean(each))
        bits = np.concatenate([bits * p, bits * (1 - p)])
    return bits


def searched_batch_attack(epsilon: float, *, replacement: bool, tries: int) -> float:
    """Search data, neighbour and public parts for N = 6, b = 2, T = 3."""
    random = np.random.default_rng(7)
    records, batch, steps = 6, 2, 3

    def success(ratios: np.ndarray, other: np.ndarray, offsets: np.ndarray) -> float:
        neighbour = ratios.copy()
        neighbour[:, 0] = other
        played = [
            batch_play(r, batch, offsets, replacement=replacement)
            for r in (ratios, neighbour)
        ]
        return max(hockey_stick(*played, epsilon), hockey_stick(*played[::-1], epsilon))

    def corner(size: tuple[int, ...]) -> np.ndarray:
        return random.choice([-1.0, 1.0], size=size)

    best = current = 0.0
    state = (corner((steps, records)), corner((steps,)), np.zeros(steps))
    for turn in range(tries):
        fresh = turn % 40 == 0
        ratios, other, offsets = (part.copy() for part in state)
        if fresh:
            ratios, other = corner((steps, records)), corner((steps,))
            offsets = random.normal(0, 1.5, steps)
        else:
            flip = random.random((steps, records)) < 0.1
            ratios = np.where(flip, corner((steps, records)), ratios)
            other = np.where(random.random(steps) < 0.2, corner((steps,)), other)
            offsets = offsets + random.normal(0, 0.4, steps)
        found = success(ratios, other, offsets)
        if fresh or found >= current:
            state, current = (ratios, other, offsets), found
        best = max(best, found)
    return best
