# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The random walk moves with the scale it was given, or says why it cannot."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from words import FALSE_ALARM, moves

from dpmcmc.errors import InputError
from dpmcmc.proposals import PerCoordinate, RandomWalk

THETA = {"a": jnp.float32(1.0), "b": jnp.array([2.0, 3.0], jnp.float32)}


class Given:
    """Stands in for the tape: hands out numbers that are known."""

    def __init__(self, numbers):
        self.numbers = numbers

    def normals(self, count):
        assert count == len(self.numbers)
        return jnp.asarray(self.numbers)


def move(scale, numbers, theta=THETA):
    proposed, log_ratio = RandomWalk(scale).fit(theta).propose(theta, Given(numbers))
    assert jax.tree.structure(proposed) == jax.tree.structure(theta)
    assert log_ratio == 0
    return proposed


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (0.5, [1.5, 3.0, 1.5]),
        (np.float32(0.5), [1.5, 3.0, 1.5]),
        (2, [3.0, 6.0, -3.0]),
        ({"a": 0.5, "b": 0.25}, [1.5, 2.5, 2.25]),
        ({"a": 0.5, "b": np.array([0.25, 0.5])}, [1.5, 2.5, 1.5]),
        ({"a": 0.5, "b": [0.25, 0.5]}, [1.5, 2.5, 1.5]),
        (np.diag([0.25, 4.0, 1.0]), [1.5, 6.0, 0.0]),
    ],
    ids=["number", "numpy", "whole", "leaves", "coordinates", "list", "covariance"],
)
def test_a_scale_is_a_standard_deviation_or_a_covariance(scale, expected):
    proposed = move(scale, [1.0, 2.0, -3.0])
    np.testing.assert_allclose(proposed["a"], expected[0], rtol=1e-6)
    np.testing.assert_allclose(proposed["b"], expected[1:], rtol=1e-6)
    assert jax.tree.map(lambda x: x.dtype, proposed) == {
        "a": jnp.float32,
        "b": jnp.float32,
    }


def test_a_single_array_takes_scales_of_its_own_shape():
    """A 2 × 2 parameter and a 2 × 2 scale: deviations, not a covariance."""
    theta = jnp.zeros((2, 2))
    scale = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(move(scale, [1.0] * 4, theta), scale)
    wide = np.eye(4) * 9.0
    assert np.array_equal(move(wide, [1.0] * 4, theta), np.full((2, 2), 3.0))


def test_one_parameter_takes_a_covariance_of_one():
    assert move(np.array([[9.0]]), [1.0], jnp.float32(0.0)) == 3.0
    assert move(9.0, [1.0], jnp.float32(0.0)) == 9.0


@pytest.mark.parametrize("form", ["covariance", "deviations", "number"])
def test_moves_have_the_covariance_they_were_given(form):
    """Sample second moments of 10⁵ moves, each within its own tolerance.

    For normal moves S_ij has variance (C_ii C_jj + C_ij²) / n. By the central limit
    theorem each of 9 entries and 3 means is off by more than z of its standard
    deviations with chance 2(1 − Φ(z)): false-alarm rate 1e-6 for all together.
    """
    count, factor = 100_000, np.array([[1.0, 0, 0], [0.8, 0.5, 0], [-0.3, 0.2, 2.0]])
    scale, covariance = {
        "covariance": (factor @ factor.T, factor @ factor.T),
        "deviations": ({"a": 0.1, "b": np.array([3.0, 7.0])}, np.diag([0.01, 9, 49])),
        "number": (0.7, np.eye(3) * 0.49),
    }[form]
    kernel = RandomWalk(scale).fit(THETA)
    normals = np.random.default_rng(90).standard_normal((count, 3))

    def flat_move(numbers):
        proposed = kernel.propose(THETA, Given(numbers)).theta
        moved = jax.tree.map(lambda new, old: new - old, proposed, THETA)
        return jax.flatten_util.ravel_pytree(moved)[0]

    moves = np.asarray(jax.vmap(flat_move)(jnp.asarray(normals)), float)
    z = stats.norm.isf(FALSE_ALARM / 2 / 12)
    variances = np.diag(covariance)
    deviations = np.sqrt((np.outer(variances, variances) + covariance**2) / count)
    assert np.all(np.abs(moves.T @ moves / count - covariance) < z * deviations)
    assert np.all(np.abs(moves.mean(axis=0)) < z * np.sqrt(variances / count))
    wrong = moves * 1.05  # a scale off by a twentieth is found
    assert np.any(np.abs(wrong.T @ wrong / count - covariance) > z * deviations)


def test_moves_keep_the_precision_of_the_chain():
    with jax.enable_x64(True):
        theta = jnp.float64(1.0)
        proposed = move(1 / 3, np.array([1.0]), theta)
        assert proposed.dtype == jnp.float64
        assert float(proposed) == 1 + 1 / 3


def refusal(scale, theta=THETA):
    with pytest.raises(InputError) as caught:
        RandomWalk(scale).fit(theta)
    assert caught.value.__cause__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    "scale",
    [
        {"a": 1.0},
        {"a": 1.0, "c": 1.0},
        {"a": 1.0, "b": 1.0, "c": 1.0},
        [1.0, 1.0],
        np.ones(3),
        np.ones((2, 2)),
        {"a": 1.0, "b": np.ones(3)},
        {"a": np.ones(2), "b": 1.0},
        {"a": 1.0, "b": "wide"},
        {"a": 1.0, "b": 1j},
        "wide",
        1j,
        None,
    ],
    ids=str,
)
def test_a_scale_of_another_structure_is_refused(scale):
    message = refusal(scale)
    assert "scale is" in message
    assert "θ is {a: float32[scalar], b: float32[2]}" in message
    assert "covariance of shape (3, 3)" in message


@pytest.mark.parametrize(
    "scale",
    [0, -1.0, math.nan, math.inf, {"a": 1.0, "b": np.array([1.0, 0.0])}],
)
def test_a_scale_that_is_not_positive_and_finite_is_refused(scale):
    assert "must be a finite number above 0" in refusal(scale)


@pytest.mark.parametrize(
    "covariance",
    [
        np.array([[1, 2, 0], [2, 1, 0], [0, 0, 1.0]]),
        np.array([[1, 0.5, 0], [0.2, 1, 0], [0, 0, 1.0]]),
        np.diag([1.0, 0.0, 1.0]),
        -np.eye(3),
        np.diag([np.inf, 1.0, 1.0]),
        np.full((3, 3), np.nan),
        np.eye(3) + 0j,
    ],
    ids=["indefinite", "asymmetric", "flat", "negative", "infinite", "nan", "complex"],
)
def test_a_matrix_that_is_no_covariance_is_refused(covariance):
    assert "3 × 3 matrix that is not a covariance" in refusal(covariance)


def test_a_covariance_may_be_rounded_where_coordinates_are_uncorrelated():
    """Entries of 1e-19 beside variances of 1 and 1e-8, which nothing makes alike."""
    covariance = np.diag([1.0, 1e-8, 4.0])
    covariance[0, 1], covariance[1, 0] = 1e-19, -3e-19
    assert move(covariance, [1.0, 0.0, 0.0])["a"] == 2


@pytest.mark.parametrize("scale", [1e-60, 1e60, np.diag([1e-90, 1.0, 1.0])])
def test_a_move_that_the_precision_cannot_hold_is_refused(scale):
    """A chain in float32 would stand still, or leave at once."""
    assert "in float32 it must be from" in refusal(scale)
    with jax.enable_x64(True):
        RandomWalk(scale).fit(jnp.zeros(3))


@pytest.mark.parametrize("proposal", [RandomWalk(0.1), PerCoordinate(0.1)])
@pytest.mark.parametrize(
    ("theta", "shown"),
    [
        ({"a": jnp.float32(0), "k": jnp.int32(0)}, "θ holds k: int32[scalar]"),
        ({"g": {"bits": jnp.zeros(3, bool)}}, "θ holds g.bits: bool[3]"),
        (jnp.zeros(2, jnp.int32), "θ holds θ: int32[2]"),
    ],
    ids=["whole", "boolean", "bare"],
)
def test_discrete_parameters_are_refused(proposal, theta, shown):
    with pytest.raises(InputError) as caught:
        proposal.fit(theta)
    for part in ("moves real parameters", shown, "Write 0.0", "Blocks"):
        assert part in str(caught.value)


def test_one_coordinate_moves_at_a_time():
    """Chi-square of the places, Kolmogorov–Smirnov of the moves of each: 4 tests."""
    count, scales = 100_000, np.array([0.5, 0.1, 3.0])
    walk = PerCoordinate({"a": 0.5, "b": [0.1, 3.0]})
    proposed, log_ratio = moves(walk, THETA, count, seed=91)
    assert not np.any(log_ratio)
    new = np.column_stack([proposed["a"], proposed["b"]]).astype(np.float64)
    moved = new - [1.0, 2.0, 3.0]
    assert np.all(np.count_nonzero(moved, axis=1) <= 1)
    counts = np.count_nonzero(moved, axis=0)
    assert counts.sum() > count * 0.999  # a tiny move may round to none
    assert stats.chisquare(counts).pvalue > FALSE_ALARM / 4
    for column, scale in zip(moved.T, scales, strict=True):
        z = column[column != 0] / scale
        assert stats.kstest(z, stats.norm.cdf).pvalue > FALSE_ALARM / 4


def test_per_coordinate_scales_are_checked():
    with pytest.raises(InputError, match=r"scale is float32\[3×3\], but θ is \{a"):
        PerCoordinate(np.eye(3, dtype=np.float32)).fit(THETA)
    with pytest.raises(InputError, match="in float32 it must be from"):
        PerCoordinate(1e-60).fit(THETA)
