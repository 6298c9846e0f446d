# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Predictors: where a log-likelihood is cut, and that both parts make the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc.influence.predictors import find_predictors
from dpmcmc.models import linear_regression, logistic_regression

SIZE = 5
RECORD = {"x": np.array([0.3, -1.0, 2.0, 0.5, 1.5]), "y": 1.0, "k": 2}
POINT = {"b": np.linspace(-0.4, 0.7, SIZE), "g": np.arange(4.0), "a": 0.3, "s": -0.2}


def logistic(theta, record):
    place = jnp.dot(record["x"], theta["b"])
    return record["y"] * place - jax.nn.softplus(place)


def grouped(theta, record):
    place = theta["a"] + theta["g"][record["k"]] + record["x"] @ theta["b"]
    return record["y"] * place - jnp.exp(place)


def normal(theta, record):
    place = theta["a"] + jnp.sum(record["x"] * theta["b"])
    return jax.scipy.stats.norm.logpdf(record["y"], place, jnp.exp(theta["s"]))


def chosen_by_record(theta, record):
    here = jnp.where(record["y"] > 0, theta["b"][:2], -theta["b"][1:3] / 2)
    return -jnp.sum(jnp.concatenate([here, 3 * here])[::2] ** 2)


def two_places(theta, record):
    near, far = record["x"][:3] @ theta["b"][:3], record["x"][3:] @ theta["b"][3:]
    return jnp.logaddexp(near, far) - near


def affine(theta, record):
    return record["y"] * (record["x"] @ theta["b"]) + theta["a"]


NARROW = {
    "logistic": (logistic, 1, [True]),
    "grouped": (grouped, 1, [True]),
    "normal": (normal, 2, [False, True]),
    "chosen by record": (chosen_by_record, 2, [True]),
    "two places": (two_places, 2, [True, True]),
    "affine": (affine, 1, [True]),
}


def product(theta, record):
    return record["y"] * theta["a"] * theta["s"] * jnp.dot(theta["b"], theta["b"])


def divided(theta, record):
    return record["x"] @ (theta["b"] / theta["a"])


def chosen_by_theta(theta, record):
    return jnp.where(theta["a"] > 0, 1.0, -1.0) * (record["x"] @ theta["b"]) ** 2


def looked_up_by_theta(theta, record):
    return theta["b"][theta["a"].astype(int)] * record["y"] + theta["s"]


def rounded(theta, record):
    whole = (record["x"] @ theta["b"] * 3).astype(int)
    return whole * record["y"] * theta["a"]


def in_a_loop(theta, record):
    return jax.lax.fori_loop(
        0, SIZE, lambda i, sum_: sum_ * 0.5 + theta["b"][i] * record["x"][i], 0.0
    )


CURVED = [
    *(product, divided, chosen_by_theta, looked_up_by_theta, rounded, in_a_loop),
]


def point(dtype):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), POINT)


def record(dtype):
    made = {name: jnp.asarray(RECORD[name], dtype) for name in "xy"}
    return {**made, "k": jnp.asarray(2)}


def check_both_parts(log_likelihood, dtype="float64"):
    """The parts make the whole, and the first is affine: it does not bend."""
    with jax.enable_x64(dtype == "float64"):
        theta, one = point(dtype), record(dtype)
        found = find_predictors(log_likelihood, theta, one)
        for scale in (1.0, -2.5, 40.0):
            there = jax.tree.map(lambda leaf, s=scale: s * leaf, theta)
            whole = log_likelihood(there, one)
            parts = found.log_likelihood(found.at(there, one), one)
            np.testing.assert_allclose(parts, whole, rtol=1e-6)
            assert parts.dtype == dtype
        moves = [0.0, 1.0, 2.0]
        line = [
            found.at(jax.tree.map(lambda leaf, m=m: leaf + m, theta), one)
            for m in moves
        ]
        for low, middle, high in zip(*line, strict=True):
            np.testing.assert_allclose(high - middle, middle - low, rtol=1e-4)
        return found


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_program_is_cut_where_it_is_narrowest(name, dtype):
    log_likelihood, size, of_record = NARROW[name]
    found = check_both_parts(log_likelihood, dtype)
    assert found.size == size
    assert [place.of_record for place in found.places] == of_record


@pytest.mark.parametrize("log_likelihood", CURVED)
def test_what_is_not_affine_is_not_taken_for_it(log_likelihood):
    found = check_both_parts(log_likelihood)
    assert found.size > 1


def test_without_a_narrow_place_they_are_the_coordinates_that_are_read():
    found = check_both_parts(product)
    assert found.size == sum(np.size(POINT[name]) for name in "abs")
    assert not any(place.of_record for place in found.places)


def test_without_theta_there_are_none():
    found = check_both_parts(lambda theta, record: -(record["y"] ** 2))
    assert found.size == 0


def test_derivatives_by_predictors_are_those_by_theta():
    """g = Jᵀf′ and H = Jᵀf″J, J the slopes of the predictors."""
    with jax.enable_x64(True):
        theta, one = point("float64"), record("float64")
        found = find_predictors(normal, theta, one)

        def pieces(theta):
            return jnp.stack(found.at({**POINT, **theta}, one))

        moving = {"b": theta["b"], "s": theta["s"]}
        flat, unravel = jax.flatten_util.ravel_pytree(moving)
        jacobian = jax.jacobian(lambda v: pieces(unravel(v)))(flat)

        def rest(row):
            return found.log_likelihood(tuple(row), one)

        at = pieces(moving)
        whole = jax.hessian(lambda v: normal({**POINT, **unravel(v)}, one))(flat)
        np.testing.assert_allclose(
            jacobian.T @ jax.hessian(rest)(at) @ jacobian, whole, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (logistic_regression(3, norm=3.0), 1),
        (linear_regression(3, norm=3.0, bounds=(-5, 5)), 2),
    ],
)
def test_ready_regressions_have_one_for_the_line(model, size):
    theta = jax.tree.map(jnp.asarray, model.initial)
    row = {"x": jnp.ones(3), "y": jnp.ones(())}
    assert find_predictors(model.log_likelihood, theta, row).size == size


def test_a_numpyro_regression_has_one():
    numpyro = pytest.importorskip("numpyro")
    from dpmcmc.adapters import from_numpyro

    def regression(x, y):
        normal = numpyro.distributions.Normal
        b = numpyro.sample("b", normal(0, 1).expand([4]).to_event(1))
        with numpyro.plate("records", len(x)):
            numpyro.sample("y", numpyro.distributions.Bernoulli(logits=x @ b), obs=y)

    one = {"x": jnp.ones(4), "y": jnp.ones(())}
    model = from_numpyro(regression, 6, jax.eval_shape(lambda: one))
    theta = jax.tree.map(jnp.asarray, model.initial)
    assert find_predictors(model.log_likelihood, theta, one).size == 1
