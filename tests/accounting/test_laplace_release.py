# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Releases with Laplace noise, against quadratures that know nothing of the code.

The code integrates over spheroidal coordinates with both means as foci. Here the noise
has polar coordinates about the first mean: its length is a Gamma variable, and its
angle with the line through both means has a density in proportion to sin^(d−2).
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special

from dpmcmc import InputError
from dpmcmc.accounting import (
    BarkerBit,
    GaussianRelease,
    LaplaceRelease,
    certify_delta,
    certify_epsilon,
    largest,
)
from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, ZCDP
from dpmcmc.accounting.curves import gaussian_profile
from dpmcmc.accounting.laplace_release import laplace_profile
from dpmcmc.accounting.registry import ACCOUNTANTS, NotApplicableError

Array = NDArray[np.float64]

FEW, MANY = (np.polynomial.legendre.leggauss(count) for count in (60, 200))
CASES = [(d, s) for d in (1, 2, 3, 5, 20) for s in (0.01, 0.3, 1.0, 4.0, 15.0)]
SEVERAL = [case for case in CASES if case[0] > 1]
EACH = pytest.mark.parametrize(("dimension", "shift"), CASES)


def between(
    low: Array, high: Array, rule: tuple[Array, Array] = MANY
) -> tuple[Array, Array]:
    """Nodes and weights on each of some intervals."""
    half, (nodes, weights) = (high - low)[:, None] / 2, rule
    return low[:, None] + half * (nodes + 1), half * weights


def furthest(dimension: int) -> float:
    """A length of noise that is exceeded with probability below 10⁻²⁰."""
    return dimension + 60 + 12 * math.sqrt(dimension)


def exact_delta(dimension: int, shift: float, epsilon: float) -> float:
    """E (1 − e^(ε − L))₊, L the loss |z + s| − |z|, for −s < ε < s and d ≥ 2.

    At length t the loss is above ε from the direction of s up to an angle. It is all
    angles up to (s − ε)/2, from where on the angle changes like a square root.
    """
    near = (shift - epsilon) / 2
    far = max(furthest(dimension), near + 1)
    t, dt = between(np.zeros(1), np.array([near]))
    cuts = np.linspace(0, math.sqrt(far - near), 7)
    roots, d_roots = between(cuts[:-1], cuts[1:])
    lengths = np.append(t, near + roots**2)
    weights = np.append(dt, 2 * roots * d_roots)
    least = (epsilon - (shift**2 - epsilon**2) / (2 * lengths)) / shift
    angles, d_angles = between(np.zeros(lengths.size), np.arccos(np.maximum(least, -1)))
    t, cosines = lengths[:, None], np.cos(angles)
    sides = np.sqrt(t**2 + shift**2 + 2 * t * shift * cosines) + t
    # L − ε without the difference of two numbers that are nearly the same
    above = shift**2 - epsilon**2 + 2 * t * (shift * cosines - epsilon)
    gains = -np.expm1(-above / (sides + epsilon))
    inner = np.sum(np.sin(angles) ** (dimension - 2) * gains * d_angles, axis=1)
    return float(np.sum(gamma(dimension, lengths) * inner * weights)) / whole(dimension)


def gamma(dimension: int, lengths: Array) -> Array:
    """The density of the length of noise."""
    logs = (dimension - 1) * np.log(lengths) - lengths
    return np.asarray(np.exp(logs - special.gammaln(dimension)))


def whole(dimension: int) -> float:
    """The integral of sin^(d−2) from 0 to π."""
    return float(special.beta(0.5, (dimension - 1) / 2))


class Losses(NamedTuple):
    """The distribution of the loss, as points with masses."""

    at: Array
    masses: Array


def losses(dimension: int, shift: float) -> Losses:
    """By a quadrature over lengths and angles; of one number, over the line."""
    if dimension == 1:
        t, dt = between(np.zeros(1), np.array([shift]))
        ends, masses = [shift, -shift], [0.5, math.exp(-shift) / 2]
        inside = np.exp(-t[0]) / 2 * dt[0]
        return Losses(np.append(ends, shift - 2 * t[0]), np.append(masses, inside))
    far = furthest(dimension)
    cuts = np.append(0.0, np.geomspace(min(shift, far) / 8, far, 12))
    t, dt = (part.reshape(-1, 1) for part in between(cuts[:-1], cuts[1:], FEW))
    angles, d_angles = between(np.zeros(1), np.full(1, math.pi))
    cosines = np.cos(angles)
    above = shift**2 + 2 * t * shift * cosines
    at = above / (np.sqrt(t**2 + above) + t)
    of_angle = np.sin(angles) ** (dimension - 2) * d_angles / whole(dimension)
    masses = gamma(dimension, t) * dt * of_angle
    return Losses(at.ravel(), masses.ravel())


def points(shift: float, cells: int = 128) -> Array:
    """Points from 0 to the shift, both of them included."""
    return np.linspace(0.0, shift, cells + 1)


# The profile


@pytest.mark.parametrize("shift", [1e-6, 0.01, 1.0, 15.0, 300.0])
def test_the_profile_of_one_number_is_that_of_laplace(shift: float) -> None:
    epsilons = points(shift)
    exact = np.array([-math.expm1((epsilon - shift) / 2) for epsilon in epsilons])
    found = laplace_profile(1, shift, epsilons)
    assert np.all(found >= exact)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-299)


@pytest.mark.parametrize(("dimension", "shift"), SEVERAL)
def test_the_profile_is_what_another_quadrature_says(
    dimension: int, shift: float
) -> None:
    """Never below it, and above by less than a millionth, in far tails as well."""
    epsilons = points(shift)
    found = laplace_profile(dimension, shift, epsilons)
    for place in (0, 1, 17, 40, 64, 90, 110, 120, 125, 127):
        exact = exact_delta(dimension, shift, float(epsilons[place]))
        assert exact <= found[place] <= exact * (1 + 1e-6)
    assert found[-1] <= 1e-300


@pytest.mark.parametrize("dimension", [2, 3, 5, 20])
def test_tails_are_as_thin_as_they_should_be(dimension: int) -> None:
    """Down to a δ of 10⁻¹⁰ and beyond."""
    shift = 1.0
    epsilons = np.append(0.0, shift - 10.0 ** np.arange(-1, -7, -1))
    found = laplace_profile(dimension, shift, np.append(epsilons, shift))
    exact = [exact_delta(dimension, shift, float(epsilon)) for epsilon in epsilons]
    assert exact[-1] < 1e-9
    np.testing.assert_allclose(found[:-1], exact, rtol=1e-6)
    assert np.all(found[:-1] >= exact)


@pytest.mark.parametrize(("dimension", "shift"), [(2, 0.3), (3, 4.0), (20, 4.0)])
def test_neighbours_that_are_swapped_have_the_same_profile(
    dimension: int, shift: float
) -> None:
    """δ at −ε says the profile of the second mean against the first."""
    for epsilon in np.linspace(0.01, 0.9, 6) * shift:
        back = exact_delta(dimension, shift, -float(epsilon))
        swapped = 1 - math.exp(epsilon) * (1 - back)
        forth = exact_delta(dimension, shift, float(epsilon))
        assert swapped == pytest.approx(forth, abs=1e-12 * math.exp(epsilon))


@settings(max_examples=30)
@given(
    dimension=st.integers(1, 30),
    shift=st.floats(0.01, 20),
    part=st.floats(0.05, 0.999),
)
def test_smaller_moves_cost_less(dimension: int, shift: float, part: float) -> None:
    """What moves the mean by less is dominated at every ε."""
    more = points(shift)
    less = np.append(more[more < part * shift], part * shift)
    found = laplace_profile(dimension, part * shift, less)
    dominating = laplace_profile(dimension, shift, more)[: len(less)]
    assert np.all(found[:-1] <= dominating[: len(less) - 1] * (1 + 1e-9))


@pytest.mark.parametrize("dimension", [2, 3, 5, 20])
@pytest.mark.parametrize("shift", [0.3, 4.0])
def test_half_the_move_is_dominated(dimension: int, shift: float) -> None:
    found = laplace_profile(dimension, shift, points(shift))
    for place in range(0, 64, 7):
        epsilon = float(points(shift)[place])
        assert exact_delta(dimension, shift / 2, epsilon) <= found[place]


@settings(max_examples=30)
@given(
    dimension=st.integers(1, 40),
    shift=st.floats(0.001, 50),
    cells=st.integers(1, 300),
)
def test_a_profile_falls_and_is_convex(
    dimension: int, shift: float, cells: int
) -> None:
    epsilons = points(shift, cells)
    found = laplace_profile(dimension, shift, epsilons)
    assert np.all(np.diff(found) <= 0)
    slopes = np.diff(found) / np.diff(np.exp(epsilons))
    noise = 1e-11 * found[0] / np.min(np.diff(np.exp(epsilons)))
    assert np.all(np.diff(slopes) >= -noise)


@pytest.mark.parametrize(
    ("dimension", "shift"), [(100, 0.01), (300, 1.0), (300, 20.0), (1000, 60.0)]
)
def test_many_numbers_have_a_profile(dimension: int, shift: float) -> None:
    """As one needs while a scale is sought. Noise is then nearly normal."""
    found = laplace_profile(dimension, shift, points(shift))
    assert np.all(np.isfinite(found))
    normal = float(gaussian_profile(shift / math.sqrt(dimension), np.zeros(1))[0])
    assert found[0] == pytest.approx(normal, rel=2 / dimension)


@pytest.mark.parametrize("dimension", [1, 2, 3, 8])
def test_a_lattice_that_ends_at_the_shift_has_a_profile(dimension: int) -> None:
    """Where the shift is a number of steps, but for rounding."""
    generator = np.random.default_rng(0)
    for shift in generator.uniform(1, 10, 300):
        (part,) = BLOCKS.piece(LaplaceRelease(dimension, float(shift)), 1)
        found = part.deltas(float(shift) / 49)
        assert np.all(np.isfinite(found))
        assert np.all(np.diff(found) <= 0)


# What accountants make of it


@EACH
def test_rho_is_the_mean_of_the_loss_and_enough_at_every_order(
    dimension: int, shift: float
) -> None:
    rho = ZCDP.piece(LaplaceRelease(dimension, shift), 1)
    at, masses = losses(dimension, shift)
    assert np.sum(masses) == pytest.approx(1, rel=1e-7)
    assert rho == pytest.approx(np.sum(masses * at), rel=1e-5)
    for order in (1.01, 1.1, 1.5, 2, 3, 5, 10, 20, 50):
        tilted = np.sum(masses * np.exp((order - 1) * (at - shift)))
        divergence = math.log(tilted) / (order - 1) + shift
        # what the quadrature may be wrong by is divided by α − 1
        assert divergence <= order * rho * (1 + 1e-6) + 1e-9 / (order - 1)


@EACH
def test_mu_is_enough_at_every_epsilon_and_hardly_more_than_that(
    dimension: int, shift: float
) -> None:
    mu = GAUSSIAN.piece(LaplaceRelease(dimension, shift), 1)
    epsilons = points(shift, 5000)
    found = laplace_profile(dimension, shift, epsilons)
    assert np.all(found <= gaussian_profile(mu, epsilons) * (1 + 1e-8))
    less = mu * (0.99 if dimension < 20 else 0.98)
    assert np.any(found > gaussian_profile(less, epsilons) * (1 + 1e-8))


@EACH
def test_alone_it_never_costs_more_than_the_shift(dimension: int, shift: float) -> None:
    certificate = certify_epsilon({LaplaceRelease(dimension, shift): 1}, 1e-9)
    assert certificate.epsilon <= shift * 1.005
    beyond = certify_delta({LaplaceRelease(dimension, shift): 1}, shift * 1.005)
    assert beyond.delta < 1e-9


def tight_epsilon(mu: float, loss: Losses, delta: float) -> float:
    """The ε of normal noise beside it: δ of the former, averaged over losses."""
    low, high = 0.0, float(np.max(loss.at)) + 10 * mu + mu**2
    for _ in range(45):
        epsilon = (low + high) / 2
        rest = epsilon - loss.at
        near, far = mu / 2 - rest / mu, -mu / 2 - rest / mu
        deltas = special.ndtr(near) - np.exp(rest + special.log_ndtr(far))
        fits = np.sum(loss.masses * deltas) <= delta
        low, high = (low, epsilon) if fits else (epsilon, high)
    return high


@pytest.mark.parametrize(
    ("mu", "dimension", "shift"),
    [(1.0, 1, 1.0), (1.0, 3, 2.0), (0.3, 2, 0.5), (2.0, 5, 4.0), (1.0, 20, 5.0)],
)
def test_beside_normal_noise_it_costs_what_it_must(
    mu: float, dimension: int, shift: float
) -> None:
    loss = losses(dimension, shift)
    for delta in (1e-3, 1e-6):
        events = {GaussianRelease(mu): 1, LaplaceRelease(dimension, shift): 1}
        found = certify_epsilon(events, delta).epsilon
        tight = tight_epsilon(mu, loss, delta)
        assert tight * (1 - 1e-6) <= found <= tight * 1.001


@pytest.mark.parametrize(("dimension", "close"), [(100, 0.045), (400, 0.012)])
def test_of_many_numbers_it_is_nearly_normal(dimension: int, close: float) -> None:
    mu = 0.5
    found = certify_epsilon({LaplaceRelease(dimension, mu * dimension**0.5): 1}, 1e-5)
    normal = certify_epsilon({GaussianRelease(mu): 1}, 1e-5)
    assert found.epsilon == pytest.approx(normal.epsilon, rel=close)


@pytest.mark.parametrize("dimension", [1, 3, 50, 300])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_largest_that_fits(dimension: int, epsilon: float) -> None:
    """Also beside normal noise and decisions, as in a run."""
    others = {GaussianRelease(0.1): 1, BarkerBit(0.001, 1000): 100}
    for beside in ({}, others):

        def events(shift: float, beside: dict = beside) -> dict:
            return {**beside, LaplaceRelease(dimension, shift): 1}

        found = largest(events, epsilon, 1e-5)
        assert certify_delta(events(found), epsilon).delta <= 1e-5
        assert certify_delta(events(found * 1.001), epsilon).delta > 1e-5


# What is refused


@pytest.mark.parametrize("dimension", [0, -1, 1.5])
def test_a_release_of_no_numbers_is_refused(dimension: int) -> None:
    with pytest.raises(InputError, match="Give the length of the vector"):
        LaplaceRelease(dimension, 1.0)


@pytest.mark.parametrize("shift", [0.0, -1.0, math.inf, math.nan])
def test_a_shift_that_is_none_is_refused(shift: float) -> None:
    with pytest.raises(InputError, match="Give the move of the mean over b"):
        LaplaceRelease(3, shift)


@pytest.mark.parametrize("dimension", [1, 4])
def test_hardly_any_noise_is_priced_by_nobody(dimension: int) -> None:
    event = LaplaceRelease(dimension, 301.0)
    for accountant in ACCOUNTANTS.values():
        if accountant.supports({event: 1}):
            with pytest.raises(NotApplicableError, match="Add more noise"):
                accountant.piece(event, 1)
    assert certify_epsilon({event: 1}, 1e-5).epsilon == math.inf


def test_what_rounding_adds_is_next_to_nothing() -> None:
    assert 0 < LaplaceRelease(20, 5.0).slack(10.0) < 1e-8 * 1e-8
    assert LaplaceRelease(20, 5.0).slack(1e6) < math.inf
