# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A count, a level, a vector of known covariance: densities, simulators, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from dpmcmc import InputError, models
from dpmcmc.model.preparation import Preparation, Whiten

COVARIANCE = np.array([[4.0, 1.0], [1.0, 2.0]])
CENTRE = np.array([1.0, -1.0])


def gap(function, one, other, *given):
    """A difference over θ, in float64: constants do not matter."""
    with jax.enable_x64(True):
        points = [
            jax.tree.map(lambda leaf: jnp.asarray(leaf, float), t) for t in (one, other)
        ]
        return float(function(points[0], *given) - function(points[1], *given))


def test_poisson():
    model = models.poisson(9, shape=2.0, rate=0.5)
    one, other = {"log_rate": 0.3}, {"log_rate": -0.7}
    law = stats.gamma(2.0, scale=2.0)
    record = {"x": 4.0}
    rates = np.exp([0.3, -0.7])
    wanted = np.subtract(*stats.poisson.logpmf(4, rates))
    np.testing.assert_allclose(gap(model.log_likelihood, one, other, record), wanted)
    wanted = np.subtract(*(law.logpdf(rates) + np.log(rates)))
    np.testing.assert_allclose(gap(model.log_prior, one, other), wanted)
    assert float(model.preparation({"x": jnp.array(20.0)})["x"]) == 9


def test_categorical():
    model = models.categorical(3, concentration=1.5)
    one, other = {"logits": np.array([0.2, -1.0])}, {"logits": np.array([1.0, 0.5])}
    chances = [special.softmax([0, *t["logits"]]) for t in (one, other)]
    record = model.preparation({"x": jnp.array(2.0)})
    wanted = np.log(chances[0][2] / chances[1][2])
    found = gap(model.log_likelihood, one, other, record)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    # the density of log ratios has the Jacobian Π pₖ
    laws = [
        stats.dirichlet.logpdf(p, np.full(3, 1.5)) + np.log(p).sum() for p in chances
    ]
    np.testing.assert_allclose(gap(model.log_prior, one, other), np.subtract(*laws))


def test_normal_mean():
    model = models.normal_mean(COVARIANCE, radius=50.0, centre=CENTRE, mean_scale=3.0)
    one, other = {"mean": np.array([0.5, 2.0])}, {"mean": np.array([-1.0, 0.0])}
    x = np.array([2.0, 0.3])
    with jax.enable_x64(True):
        record = model.preparation({"x": jnp.asarray(x)})
    wanted = np.subtract(
        *(
            stats.multivariate_normal.logpdf(x, t["mean"], COVARIANCE)
            for t in (one, other)
        )
    )
    np.testing.assert_allclose(gap(model.log_likelihood, one, other, record), wanted)
    wanted = np.subtract(
        *(stats.norm.logpdf(t["mean"], CENTRE, 3).sum() for t in (one, other))
    )
    np.testing.assert_allclose(gap(model.log_prior, one, other), wanted)


@pytest.mark.parametrize(
    ("model", "theta", "mean"),
    [
        (models.poisson(30), {"log_rate": 1.0}, np.e),
        (
            models.categorical(3),
            {"logits": np.log([2.0, 1.0])},
            np.array([0.25, 0.5, 0.25]),
        ),
        (
            models.normal_mean(COVARIANCE, radius=30.0),
            {"mean": np.array([2.0, 1.0])},
            np.linalg.solve(np.linalg.cholesky(COVARIANCE), [2.0, 1.0]),
        ),
    ],
    ids=["poisson", "categorical", "normal mean"],
)
def test_simulated_records_have_the_mean_of_the_model(model, theta, mean):
    """Of 20,000 records; six deviations of the mean: false alarm below 1e-8."""
    keys = jax.random.split(jax.random.key(1), 20_000)
    theta = jax.tree.map(jnp.asarray, theta)
    drawn = jax.vmap(lambda key: model.simulate(theta, key, {})["x"])(keys)
    drawn = np.asarray(drawn, np.float64)
    error = 6 * drawn.std(0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(0) - mean) < error)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: models.poisson(0), "most is 0"),
        (lambda: models.poisson(9, shape=-1.0), "shape is -1.0"),
        (lambda: models.categorical(1), "levels is 1"),
        (lambda: models.categorical(3, concentration=0), "concentration is 0"),
        (lambda: models.normal_mean(COVARIANCE, radius=0.0), "radius is 0.0"),
        (lambda: models.normal_mean(-COVARIANCE, radius=1.0), "positive definite"),
        (
            lambda: models.normal_mean(COVARIANCE, radius=1.0, centre=[0.0]),
            "must have 2 entries",
        ),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


# Whitening


def test_whitened_vectors_have_the_identity_as_covariance():
    step = Whiten(CENTRE, COVARIANCE)
    with jax.enable_x64(True):
        found = step(jnp.asarray(CENTRE + np.linalg.cholesky(COVARIANCE) @ [2.0, -3.0]))
    np.testing.assert_allclose(found, [2.0, -3.0])
    said = Preparation({"x": step}).describe()[0]
    assert said == "x whitened by a public centre and a public 2 × 2 covariance"


@pytest.mark.parametrize(
    ("centre", "covariance"),
    [
        (CENTRE, np.eye(3)),
        (CENTRE, np.array([[1.0, 2.0], [0.0, 1.0]])),
        (np.array([np.nan, 0.0]), COVARIANCE),
        (CENTRE, -COVARIANCE),
        ("a", "b"),
    ],
)
def test_a_covariance_that_is_none_is_refused(centre, covariance):
    with pytest.raises(InputError, match="positive definite"):
        Whiten(centre, covariance)


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(InputError, match="2 entries"):
        Preparation({"x": Whiten(CENTRE, COVARIANCE)}).check(
            {"x": jax.ShapeDtypeStruct((3,), np.float32)}
        )
