# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The first questions: what they pay, and what becomes of coordinates not seen."""

import numpy as np
import pytest
from oracle import Derivatives, Oracle
from test_rounds import prior_of, unravel

from dpmcmc.sampling.fit import scales
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.dispersion import Dispersion, Shape
from dpmcmc.sampling.fit.place import Setting
from dpmcmc.sampling.fit.questions import CurvatureBins
from dpmcmc.sampling.fit.scales import Scales, find_scales

RECORDS = 5000
ABOVE = 1.5
"""Numbers in a bin are between its power of two and twice that; here all are so many
times a power, and are taken for 1.45 times it."""

TAKEN = 1.45


def setting_of(size: int, records: int, shape: Shape | None = None) -> Setting:
    whole = Basis(np.eye(size), np.eye(size), np.zeros((size, 0)))
    return Setting(whole, prior_of(size), records, 1.0, shape)


def alike(*curvatures: float) -> Derivatives:
    """Records with these curvatures, and gradients as the model expects of them."""
    sizes = np.array(curvatures)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (RECORDS, len(sizes)))
    gradients = signs * np.sqrt(sizes)
    hessians = np.broadcast_to(-np.diag(sizes), (RECORDS, len(sizes), len(sizes)))
    return lambda theta: (gradients, hessians)


def found(derivatives: Derivatives, size: int, shape: Shape | None = None) -> Scales:
    """Without noise to speak of."""
    asking = find_scales(np.zeros(size), setting_of(size, RECORDS, shape), 1e6, unravel)
    return Oracle(derivatives).drive(asking)


# What is paid.


def paid(size: int, records: int, budget: float) -> list[float]:
    """The fractions of both questions; the second is that the result says."""
    oracle = Oracle(alike(*np.ones(size)), budget)
    whole = find_scales(np.zeros(size), setting_of(size, records), budget, unravel)
    assert oracle.drive(whole).spent == pytest.approx(sum(oracle.asked))
    return oracle.asked


@pytest.mark.parametrize("size", [1, 4, 12])
def test_a_third_of_the_records_is_to_be_seen(size: int) -> None:
    """Noise of a histogram is √(2d)/(μ√f): f where N/3 is 5.5 of its sd."""
    records = 5000
    needed = 0.05
    budget = np.sqrt(2 * size / needed) * 5.5 / (records / 3)
    first, _ = paid(size, records, budget)
    assert first == pytest.approx(needed)
    noise = np.sqrt(2 * size / first) / budget
    assert records / 3 == pytest.approx(5.5 * noise)


def test_fractions_fall_as_the_square_of_budget_and_records() -> None:
    before = paid(4, 5000, 0.038)
    np.testing.assert_allclose(paid(4, 10_000, 0.019), before)
    more = paid(4, 6000, 0.038)
    np.testing.assert_allclose(more, np.array(before) / 1.2**2)


@pytest.mark.parametrize("size", [1, 6])
def test_fractions_have_limits(size: int) -> None:
    least, most = zip(scales._FOR_CURVATURE, scales._FOR_LENGTHS, strict=True)
    assert paid(size, RECORDS, 1e3) == list(least)
    assert paid(size, RECORDS, 1e-4) == list(most)


def test_questions_that_will_follow_are_foretold() -> None:
    asking = find_scales(np.zeros(1), setting_of(1, RECORDS), 1.0, unravel)
    assert next(asking).to_come == ()


# What is found.


def test_each_coordinate_has_its_own_scale() -> None:
    """The least number in its bin is a power of two: within a factor of two."""
    result = found(alike(ABOVE * 2.0**20, ABOVE, ABOVE * 2.0**-20), 3)
    expected = 1 / np.sqrt(TAKEN * 2.0 ** np.array([20, 0, -20]))
    np.testing.assert_allclose(np.diag(result.whitening), expected, rtol=1e-6)
    np.testing.assert_allclose(result.squares, result.squares[0])
    assert 0.5 < result.squares[0] < 2


def test_a_coordinate_that_is_not_seen_is_like_the_others() -> None:
    """Its curvature is zero for all but one record: the median of those seen."""
    derivatives = alike(ABOVE, ABOVE * 16.0, ABOVE * 64.0, 0.0)
    result = found(derivatives, 4)
    curvatures = np.diag(result.whitening) ** -2.0
    np.testing.assert_allclose(curvatures, TAKEN * np.array([1, 16, 64, 16]), rtol=1e-6)


def couplings(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A Hessian of 1.5 · 2¹⁰ in all entries off the diagonal, and none on it."""
    size = ABOVE * 2.0**10
    hessians = np.broadcast_to(size * (np.eye(2) - 1), (RECORDS, 2, 2))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (RECORDS, 2))
    return np.sqrt(size) * signs, hessians


def test_where_no_coordinate_is_seen_the_length_of_a_hessian_is_the_scale() -> None:
    """A Frobenius norm of √2 · 1.5 · 2¹⁰, over two coordinates: in the bin of 2¹⁰."""
    result = found(couplings, 2)
    expected = 1 / np.sqrt(TAKEN * 2.0**10)
    np.testing.assert_allclose(result.whitening, expected * np.eye(2), rtol=1e-6)
    lengths = TAKEN * 2.0 ** np.floor(np.log2(np.sqrt(2 * ABOVE * 2.0**10)))
    np.testing.assert_allclose(result.squares, (lengths * expected) ** 2 / 2, rtol=1e-6)


def test_where_nothing_is_seen_all_is_one() -> None:
    """As of a model whose records say nothing."""
    result = found(alike(0.0, 0.0), 2)
    np.testing.assert_array_equal(result.whitening, np.eye(2))
    np.testing.assert_array_equal(result.squares, 1)


@pytest.mark.parametrize("ratio", [2.0**-10, 1.0, 2.0**10])
def test_a_scale_starts_where_records_have_it(ratio: float) -> None:
    """A log sd whose mean curvature is 2 q: at log(q)/2, where all is divided by q."""
    shape = Shape(Dispersion(1, 1.0, 2.0, np.full(2, True)), np.array([False, True]))
    q = TAKEN * ratio / 2
    result = found(alike(ABOVE * 4.0, ABOVE * ratio), 2, shape)
    expected = 1 / np.sqrt([TAKEN * 4.0 / q, 2.0])
    np.testing.assert_allclose(np.diag(result.whitening), expected, rtol=1e-6)
    aside = scales._ASIDE * result.whitening[1, 1]
    assert result.point[1] == pytest.approx(np.log(q) / 2, abs=1.001 * aside)
    assert abs(result.point[0]) == pytest.approx(scales._ASIDE * expected[0])


def test_a_scale_that_is_not_seen_stays() -> None:
    shape = Shape(Dispersion(1, 1.0, 2.0, np.full(2, True)), np.array([False, True]))
    result = found(alike(ABOVE * 4.0, 0.0), 2, shape)
    curvatures = np.diag(result.whitening) ** -2.0
    np.testing.assert_allclose(curvatures, TAKEN * 4.0, rtol=1e-6)
    assert abs(result.point[1]) == pytest.approx(scales._ASIDE * result.whitening[1, 1])


def test_what_is_asked_first_is_the_curvature_of_each_coordinate() -> None:
    first = next(find_scales(np.zeros(3), setting_of(3, RECORDS), 1.0, unravel))
    assert isinstance(first.question, CurvatureBins)
    assert first.histograms == 3
