# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""No attack with an exactly known success beats a certificate; one comes near."""

import math

import accounting_attacks as attacks
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from dpmcmc.accounting import BarkerBit, MinibatchBit, certify_delta, certify_epsilon
from dpmcmc.accounting.barker_bit import bounded_range_blocks
from dpmcmc.accounting.decision_blocks import chain_parts
from dpmcmc.accounting.losses import compose


def certified_delta(bit, steps, epsilon):
    return certify_delta({bit: steps}, epsilon).delta


@pytest.mark.parametrize(
    ("clip", "steps", "delta", "cells"),
    [(0.5, 10, 1e-5, 32), (0.1, 50, 1e-5, 32), (0.05, 100, 1e-6, 16)],
)
def test_the_certificate_is_within_one_percent_of_an_attack(clip, steps, delta, cells):
    epsilons, deltas = attacks.lattice_attack(2 * clip, steps, cells)
    achieved = epsilons[deltas > delta].max()
    certified = certify_epsilon({BarkerBit(clip, 10): steps}, delta).epsilon
    assert achieved <= certified <= 1.01 * achieved


@pytest.mark.slow
@pytest.mark.parametrize(("clip", "steps"), [(0.03, 200), (0.01, 1000)])
def test_the_same_for_long_chains(clip, steps):
    epsilons, deltas = attacks.lattice_attack(2 * clip, steps, 12)
    achieved = epsilons[deltas > 1e-6].max()
    certified = certify_epsilon({BarkerBit(clip, 10): steps}, 1e-6).epsilon
    assert achieved <= certified <= 1.01 * achieved


@given(
    eta=st.floats(0.001, 3.0),
    steps=st.integers(1, 6),
    cells=st.sampled_from([1, 2, 5]),
)
@settings(max_examples=40)
def test_the_best_attack_is_above_every_lattice_attack(eta, steps, cells):
    epsilons, deltas = attacks.lattice_attack(eta, steps, cells)
    curve = compose([chain_parts(bounded_range_blocks(eta, steps, 8), steps)])
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        if epsilon >= 0:
            assert delta <= curve.delta(epsilon) + 1e-14


def test_four_steps_on_real_ratios_by_enumeration():
    """Enumerate all bits of an adaptive play on two data sets of three records."""
    clip, records, steps, epsilon = 0.4, 3, 4, 0.5
    eta, cells = 2 * clip, 24
    offsets = adaptive_offsets(eta, steps, cells, epsilon, clip, records)
    p, q = attacks.full_data_play(clip, records, offsets)
    assert p.sum() == pytest.approx(1)
    achieved = attacks.hockey_stick(p, q, epsilon)
    certified = certified_delta(BarkerBit(clip, records), steps, epsilon)
    assert achieved <= certified <= 1.01 * achieved


def adaptive_offsets(eta, steps, cells, epsilon, clip, records):
    """Turn the best lattice play into public parts, one for each history of bits."""
    h = eta / cells
    x = h * np.arange(cells + 1)
    accept = np.expm1(x - eta) / np.expm1(-eta)
    values = [None] * (steps + 1)
    reach = 2 * steps * cells
    loss = h * np.arange(-reach, reach + 1)
    values[0] = np.maximum(0.0, -np.expm1(-loss))

    def play(value, at):
        index = round(at / h) + reach
        moves = [
            accept[j] * value[index + j] + (1 - accept[j]) * value[index + j - cells]
            for j in range(cells + 1)
        ]
        return int(np.argmax(moves)), max(moves)

    for left in range(1, steps + 1):
        values[left] = values[left - 1].copy()
        for index in range(cells, len(loss) - cells):
            values[left][index] = play(values[left - 1], loss[index])[1]
    rest = (records - 1) * clip / 3
    histories, offsets = [-round(epsilon / h) * h], []
    for left in range(steps, 0, -1):
        chosen = [play(values[left - 1], at)[0] for at in histories]
        wanted = np.clip(accept[chosen], 1e-12, 1 - 1e-12)
        offsets.append(logit(wanted) - rest - clip)
        histories = [
            at + move
            for at, j in zip(histories, chosen, strict=True)
            for move in (x[j], x[j] - eta)
        ]
    return offsets


@pytest.mark.parametrize("replacement", [True, False])
def test_batches_by_enumeration(replacement):
    """N = 6, b = 2, T = 3: every batch and every outcome, data searched."""
    bit = MinibatchBit(2, 6, replacement=replacement)
    for epsilon in (0.0, 0.5, 1.0):
        achieved = attacks.searched_batch_attack(
            epsilon, replacement=replacement, tries=200
        )
        certified = certified_delta(bit, 3, epsilon)
        assert 0 < achieved <= certified


@pytest.mark.parametrize(
    ("epsilon", "achieved", "certified"),
    [(0.0, 0.2008, 0.2647), (0.5, 0.0550, 0.1144), (1.0, 0.00764, 0.0428)],
)
def test_batches_against_a_thorough_search(epsilon, achieved, certified):
    """Successes found elsewhere by a longer search, and a coarser certificate."""
    ours = certified_delta(MinibatchBit(2, 6), 3, epsilon)
    assert achieved <= ours <= certified * 1.005


@pytest.mark.parametrize(
    ("steps", "epsilon", "achieved", "gaussian"),
    [
        (1, 0.009062, 1.502e-3, 9.974e-4),
        (10, 0.074766, 1.128e-4, 9.938e-5),
        (100, 0.275938, 1.0234e-4, 9.996e-5),
    ],
)
def test_the_gaussian_shortcut_is_not_a_bound(steps, epsilon, achieved, gaussian):
    """Attacks that beat a normal loss of equal variance do not beat ours."""
    certified = certified_delta(BarkerBit(0.01, 10), steps, epsilon)
    assert gaussian < achieved <= certified * (1 + 1e-3)
    epsilons, deltas = attacks.lattice_attack(0.02, steps, 16)
    place = np.argmin(np.abs(epsilons - epsilon))
    assert certified_delta(BarkerBit(0.01, 10), steps, epsilons[place]) >= deltas[place]
    mu = 0.01 * math.sqrt(steps)
    shift = epsilons[place] / mu
    normal = attacks.ndtr(mu / 2 - shift) - math.exp(epsilons[place]) * attacks.ndtr(
        -mu / 2 - shift
    )
    assert deltas[place] > normal
