# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Margins: put with the table as least squares does, and taken where they help."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmcmc import Statistics
from dpmcmc.errors import InputError
from dpmcmc.model.margins import Margin, choose_margins, combine

SHAPE = (3, 2, 2)
PLACES = np.indices(SHAPE).reshape(3, -1)
CELLS = PLACES.shape[1]


def margins_of(*fractions):
    """Of the first column, of the second, and of both, with the last."""
    kinds = (
        PLACES[0] * 2 + PLACES[2],
        PLACES[1] * 2 + PLACES[2],
        PLACES[0] * 2 + PLACES[1],
    )
    return tuple(Margin(places, f) for places, f in zip(kinds, fractions, strict=False))


def summed(counts, margins):
    return [np.bincount(one.places, counts, one.bins) for one in margins]


def statistics_of(margins):
    return Statistics(
        lambda record: record,
        lambda _: jnp.zeros(CELLS),
        1.0,
        cells=CELLS,
        margins=margins,
    )


@given(
    st.lists(st.floats(0.01, 0.3), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_they_are_put_together_by_least_squares(fractions, seed):
    """Against the normal equations with each count's own variance."""
    margins, generator = margins_of(*fractions), np.random.default_rng(seed)
    own = 1 - sum(fractions)
    table = generator.normal(50, 20, CELLS)
    released = [generator.normal(100, 20, one.bins) for one in margins]
    rows = [np.eye(CELLS)]
    rows += [(np.arange(one.bins)[:, None] == one.places) * 1.0 for one in margins]
    precisions = np.concatenate(
        [np.full(CELLS, own)] + [np.full(one.bins, one.fraction) for one in margins]
    )
    design = np.concatenate(rows)
    normal = design.T @ (precisions[:, None] * design)
    right = np.linalg.solve(
        normal, design.T @ (precisions * np.concatenate([table, *released]))
    )
    found, known = combine(table, released, margins)
    np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-8)
    covariance = (np.eye(CELLS) - known.T @ known) / own
    np.testing.assert_allclose(covariance, np.linalg.inv(normal), rtol=1e-7, atol=1e-9)


def test_the_noise_of_a_score_is_as_large_as_it_says():
    """Of 4,000 releases; a false alarm in a million for each of two coefficients."""
    margins, generator = margins_of(0.2, 0.3), np.random.default_rng(3)
    runs, sd = 4000, 5
    statistics = statistics_of(margins)
    own = statistics.own_fraction
    counts = generator.integers(0, 40, CELLS).astype(float)
    weights = generator.normal(size=(CELLS, 2))
    released = [
        sums[:, None]
        + generator.normal(0, sd * np.sqrt(own / one.fraction), (one.bins, runs))
        for sums, one in zip(summed(counts, margins), margins, strict=True)
    ]
    table = counts[:, None] + generator.normal(0, sd, (CELLS, runs))
    found, _ = combine(table, released, margins)  # a column for each release
    scores = (found - counts[:, None]).T @ weights
    with jax.enable_x64(True):
        noisy = statistics.read(
            table[:, 0], [one[:, 0] for one in released], 100, float(sd)
        )
        said = np.asarray(noisy.noise_of(jnp.asarray(weights)))
    squares = np.sum(np.square(scores), axis=0) / np.diag(said)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], runs)
    assert (low < squares).all()
    assert (squares < high).all()
    assert (np.diag(said) < sd**2 * np.sum(weights**2, axis=0)).all()


def test_without_margins_the_table_is_as_it_was_released():
    table = np.arange(12.0)
    noisy = statistics_of(()).read(table, [], 100, 2.0)
    assert noisy.known.shape == (0, 12)
    np.testing.assert_array_equal(noisy.total, table)
    np.testing.assert_allclose(noisy.noise_of(jnp.eye(12)), 4 * np.eye(12))


def logistic(design):
    """Log-probabilities of 0 and 1 for each row of covariates."""

    def log_probabilities(b):
        eta = jnp.asarray(design) @ b
        return jnp.stack(
            [-jax.nn.softplus(eta), -jax.nn.softplus(-eta)], axis=1
        ).ravel()

    return log_probabilities


A, B = (axis.ravel() for axis in np.indices((6, 4)))
MAIN = np.column_stack([np.eye(6)[A], np.eye(4)[B][:, 1:]])
COLUMNS = [("a", 6), ("b", 4)]


def chosen(columns, design):
    size = design.shape[1]
    return choose_margins(columns, ("y", 2), logistic(design), np.zeros(size))


def test_a_regression_without_interactions_takes_margins():
    margins = chosen(COLUMNS, MAIN)
    words = [one.words for one in margins]
    assert {"a with y", "b with y"} <= set(words)
    assert 0 < sum(one.fraction for one in margins) < 0.9 + 1e-9
    (a,) = [one for one in margins if one.words == "a with y"]
    assert a.bins == 12
    np.testing.assert_array_equal(a.places.reshape(6, 4, 2)[2, 3], [4, 5])


def test_margins_make_coefficients_more_accurate():
    """At another point than those of the choice, and of a table that is uneven.

    Variances that noise adds, relative to those without, for one and the same budget.
    """
    generator = np.random.default_rng(6)
    b = generator.normal(0, 0.5, MAIN.shape[1])
    rows = generator.exponential(100, len(MAIN))
    p = 1 / (1 + np.exp(-MAIN @ b))
    information = (MAIN * (rows * p * (1 - p))[:, None]).T @ MAIN
    with jax.enable_x64(True):
        gradients = np.asarray(jax.jacfwd(logistic(MAIN))(jnp.asarray(b)))
        weights = jnp.asarray(gradients @ np.linalg.inv(information))

        def variances(margins):
            statistics = replace(statistics_of(()), cells=48, margins=margins)
            sd = 1 / np.sqrt(statistics.own_fraction)
            zeros = [np.zeros(one.bins) for one in margins]
            noisy = statistics.read(np.zeros(48), zeros, 1, sd)
            return np.diag(np.asarray(noisy.noise_of(weights)))

        relative = variances(chosen(COLUMNS, MAIN)) / variances(())
    assert relative.mean() < 0.8


def test_the_margin_of_all_covariates_is_taken_where_it_has_few_bins():
    """257 rows are too many."""
    few, many = np.indices((16, 16)), np.indices((257, 2))
    for places, is_few in ((few, True), (many, False)):
        columns = list(zip("ab", places.shape[1:], strict=True))
        a, b = (axis.ravel() / axis.max() for axis in places)
        design = np.column_stack([np.ones_like(a), a, b])
        words = [one.words for one in chosen(columns, design)]
        assert ("all covariates" in words) == is_few


def test_the_table_is_released_alone_where_margins_do_not_help():
    """One covariate; a parameter for each cell; nothing that the model tells apart."""
    assert chosen([("a", 6)], np.eye(6)) == ()
    assert chosen([("a", 3), ("b", 2)], np.eye(6)) == ()
    assert chosen(COLUMNS, np.zeros((24, 2))) == ()
    nowhere = choose_margins(
        COLUMNS, ("y", 2), lambda b: jnp.full(48, jnp.nan) * b[0], np.zeros(1)
    )
    assert nowhere == ()


@pytest.mark.parametrize(
    "margin",
    [
        Margin(np.zeros(CELLS - 1, int), 0.5),
        Margin(np.zeros(CELLS), 0.5),
        Margin(np.full(CELLS, -1), 0.5),
        Margin(np.zeros(CELLS, int), 0.0),
        Margin(np.zeros(CELLS, int), 1.0),
        Margin(np.zeros(CELLS, int), float("nan")),
    ],
)
def test_margins_that_are_none_are_refused(margin):
    with pytest.raises(InputError):
        statistics_of((margin,))


def test_margins_of_what_is_no_table_are_refused():
    margin = Margin(np.zeros(2, int), 0.5)
    with pytest.raises(InputError, match="cells"):
        Statistics(lambda r: jnp.ones(2), lambda _: jnp.ones(2), 1.0, margins=(margin,))
