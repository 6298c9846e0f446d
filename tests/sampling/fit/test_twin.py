# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Another mode is found where the model cannot tell two points apart; else none."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import Model, Records
from dpmcmc.model.preparation import Clamp, OneHot, Preparation
from dpmcmc.sampling.fit.basis import made_up
from dpmcmc.sampling.fit.fitted import Fitted
from dpmcmc.sampling.fit.twin import find_twin, sentence_on
from dpmcmc.sampling.problem import Problem, make_problem

Y = np.zeros(50, np.float32)


def problem(model: Model, records: Any = Y) -> Problem:
    return make_problem(model, records, start=None, precision=None, devices=None)


def fitted(mode: np.ndarray, sd: float = 0.01) -> Fitted:
    size = len(mode)
    nothing = np.zeros((size, size))
    return Fitted(
        point=mode,
        factor=np.eye(size),
        inverse=np.eye(size),
        metric=np.ones(size),
        gradient_bound=1.0,
        relative_bound=1.0,
        hessian_bound=1.0,
        gradient=np.zeros(size),
        hessian=-np.eye(size),
        mode=mode,
        covariance=sd**2 * np.eye(size),
        noise=nothing,
        curvature_noise=nothing,
        shift=nothing,
        rounds=5,
        arrived=True,
        is_far=False,
        is_flat=False,
        cut_sd=0.0,
        power=np.nan,
        extremes=np.zeros(3),
    )


def wide_prior(theta: Any) -> Any:
    return -0.005 * sum(jnp.sum(leaf**2) for leaf in theta.values())


def mixture(theta: Any, y: Any) -> Any:
    """Two components with weights 1/2, as in the paper."""
    first, step = theta["t"]
    return jnp.logaddexp(-((y - first) ** 2) / 4, -((y - first - step) ** 2) / 4)


MIXTURE = Model(mixture, wide_prior, {"t": np.array([0.5, 0.5])})


def test_components_in_another_order() -> None:
    found = find_twin(problem(MIXTURE), fitted(np.array([0.1, 1.2])))
    assert found is not None
    np.testing.assert_allclose(found, [1.3, -1.2], atol=1e-3)


def test_a_sign_that_is_squared_away() -> None:
    model = Model(lambda t, y: -((y - t["a"] ** 2) ** 2), wide_prior, {"a": 1.0})
    found = find_twin(problem(model), fitted(np.array([1.5])))
    assert found is not None
    np.testing.assert_allclose(found, [-1.5], atol=1e-3)


def test_a_twin_that_the_prior_rules_out_is_none() -> None:
    def positive(theta: Any) -> Any:
        return wide_prior(theta) + jnp.where(theta["t"][1] > 0, 0.0, -jnp.inf)

    model = replace(MIXTURE, log_prior=positive)
    assert find_twin(problem(model), fitted(np.array([0.1, 1.2]))) is None


def test_a_twin_within_the_noise_is_the_mode_itself() -> None:
    assert find_twin(problem(MIXTURE), fitted(np.array([0.1, 1.2]), sd=1.0)) is None


def logistic(theta: Any, record: Any) -> Any:
    eta = record["x"] @ theta["b"]
    return record["y"] * eta - jnp.logaddexp(0.0, eta)


def normal(theta: Any, record: Any) -> Any:
    error = record["y"] - record["x"] @ theta["b"]
    return -theta["s"] - 0.5 * (error * jnp.exp(-theta["s"])) ** 2


@pytest.mark.parametrize("likelihood", [logistic, normal])
def test_regressions_have_no_other_mode(likelihood: Any) -> None:
    start: dict[str, Any] = {"b": np.zeros(3)}
    if likelihood is normal:
        start["s"] = 0.0
    given = problem(
        Model(likelihood, wide_prior, start), {"x": np.zeros((50, 3)), "y": Y}
    )
    mode = np.array([0.4, -0.8, 1.1, 0.3])[: given.coordinates]
    assert find_twin(given, fitted(mode)) is None


def test_a_parameter_of_the_prior_alone_stays() -> None:
    """Changing its sign fits every record as well, and is no other mode."""

    def centred(theta: Any) -> Any:
        return -0.5 * (theta["b"] - theta["m"]) ** 2 - 0.5 * theta["m"] ** 2

    model = Model(lambda t, y: -0.5 * (y - t["b"]) ** 2, centred, {"b": 0.0, "m": 0.0})
    assert find_twin(problem(model), fitted(np.array([0.7, 0.6]))) is None


def test_records_that_no_made_up_one_is_like() -> None:
    """A log-likelihood that is finite nowhere here says nothing."""
    model = Model(
        lambda t, y: jnp.where(y == 0.123, t["a"] ** 2, jnp.nan), wide_prior, {"a": 1.0}
    )
    assert find_twin(problem(model), fitted(np.array([1.0]))) is None


def test_the_sentence_names_what_differs() -> None:
    model = Model(
        lambda t, y: -((y - t["a"] ** 2 - t["b"]) ** 2),
        wide_prior,
        {"a": 1.0, "b": 0.0},
    )
    sentence = sentence_on(problem(model), np.array([1.5, 2.0]), np.array([-1.5, 2.0]))
    assert "a = -1.5" in sentence
    assert "b =" not in sentence


def test_levels_that_a_model_states_make_no_other_mode() -> None:
    """Of whole numbers to a few thousand hardly any is a level."""

    def likelihood(theta: Any, record: Any) -> Any:
        eta = theta["a"] + record["region"] @ theta["b"]
        return record["y"] * eta - jnp.logaddexp(0.0, eta)

    model = Model(
        likelihood,
        wide_prior,
        {"a": 0.0, "b": np.zeros(2)},
        preparation=Preparation({"region": OneHot([3, 7, 9], drop_first=True)}),
        responses={"y": [0, 1]},
    )
    given = problem(model, {"region": np.zeros(50, np.int32), "y": Y})
    regions = made_up(given)["region"]
    assert set(np.unique(regions)) == {3, 7, 9}
    assert find_twin(given, fitted(np.array([-1.0, 0.4, 0.8]))) is None


@pytest.mark.parametrize("unit", [None, "who"])
def test_an_integer_that_is_clamped_to_zero_and_one_has_both(unit: Any) -> None:
    """Made-up integers run to thousands: all but a few of them would be clamped to 1,
    of which an intercept cannot be told."""
    table = {"is_so": Y.astype(np.int64), "y": Y.astype(np.int64)}
    if unit:
        table["who"] = np.arange(len(Y))

    def poisson(theta: Any, record: Any) -> Any:
        eta = theta["b"][0] + theta["b"][1] * record["is_so"]
        return record["y"] * eta - jnp.exp(eta)

    bounds = {"is_so": Clamp(0, 1), "y": Clamp(0, 80)}
    model = Model(
        poisson, wide_prior, {"b": np.zeros(2)}, preparation=Preparation(bounds)
    )
    asked = problem(model, Records(table, unit=unit, most=2 if unit else None))
    assert find_twin(asked, fitted(np.array([0.4, 0.2]))) is None


def test_where_records_inform_nothing_there_is_nothing_to_solve() -> None:
    model = Model(lambda t, y: -(y**2), wide_prior, {"a": 0.0, "b": 0.0})
    assert find_twin(problem(model), fitted(np.array([0.3, -0.2]))) is None
