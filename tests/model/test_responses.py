# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of responses, and durations that are censored before they end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpmcmc import InputError
from dpmcmc.model.responses import (
    Moments,
    check_moments,
    check_responses,
    nodes_of,
    stops_of,
)

DENSITIES = {
    "normal": stats.norm(),
    "t, 5 df": stats.t(5),
    "t, 3 df": stats.t(3),
    "log of an exponential": stats.loggamma(1.0),
    "log of a gamma": stats.loggamma(4.0),
    "logistic": stats.logistic(),
}


def at(theta: object, record: object) -> tuple[float, float]:
    del theta, record
    return 0.0, 1.0


@pytest.mark.parametrize("name", DENSITIES)
def test_expectations_over_nodes_are_those_of_the_density(name: str) -> None:
    """A score of location has expectation zero; what is left is far below 1/√N."""
    density = DENSITIES[name]
    moments = Moments(lambda *_: (density.mean(), density.std()))
    made = nodes_of({"y": moments})
    assert made is not None
    with jax.enable_x64(True):
        columns, log_measure = made(None, {"y": np.float64(0)})
    y = np.asarray(columns["y"])
    logs = density.logpdf(y) + np.asarray(log_measure)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    inside = weights > 1e-14
    score = np.where(inside, _score(density, np.where(inside, y, density.mean())), 0)
    fine = density.ppf((np.arange(100_000) + 0.5) / 100_000)
    information = np.mean(_score(density, fine) ** 2)
    assert abs(weights @ score) < 1e-3 * np.sqrt(information)
    assert weights @ score**2 == pytest.approx(information, rel=0.02)


LIMITED = {
    "exponential": (stats.expon(scale=3.0), (0.0, None)),
    "gamma": (stats.gamma(4.0), (0.0, None)),
    "gamma, far from normal": (stats.gamma(0.7), (0.0, None)),
    "log-normal": (stats.lognorm(0.8), (0.0, None)),
    "negative exponential": (-1, (None, 0.0)),
    "beta": (stats.beta(2.0, 5.0), (0.0, 1.0)),
    "beta, far from normal": (stats.beta(0.8, 0.9), (0.0, 1.0)),
    "Poisson": (stats.poisson(3.0), (0.0, None)),
    "binomial": (stats.binom(7, 0.4), (0.0, 7.0)),
    "binomial of few": (stats.binom(1, 0.9), (0.0, 1.0)),
    "geometric": (stats.geom(0.3), (1.0, None)),
}


@pytest.mark.parametrize("name", LIMITED)
def test_nodes_stay_within_the_limits_of_a_response(name: str) -> None:
    """Means and sds over them are those of the density; nothing is beyond a limit,
    where a log-density may be any number."""
    density, (low, high) = LIMITED[name]
    sign = 1.0
    if isinstance(density, int):
        density, sign = stats.expon(), -1.0
    is_count = isinstance(density.dist, stats.rv_discrete)
    moments = Moments(
        lambda *_: (sign * density.mean(), density.std()),
        is_count=is_count,
        limits=lambda *_: (low, high),
    )
    made = nodes_of({"y": moments})
    assert made is not None
    with jax.enable_x64(True):
        columns, log_measure = made(None, {"y": np.float64(0)})
    y, log_measure = np.asarray(columns["y"]), np.asarray(log_measure)
    counted = np.isfinite(log_measure)
    assert low is None or np.all(y[counted] >= low)
    assert high is None or np.all(y[counted] <= high)
    logs = density.logpmf(y) if is_count else density.logpdf(sign * y)
    weights = np.where(counted, np.exp(logs + log_measure), 0)
    weights /= weights.sum()
    mean = weights @ y
    assert mean == pytest.approx(sign * density.mean(), abs=2e-3 * density.std())
    spread = weights @ (y - mean) ** 2
    assert spread == pytest.approx(density.var(), rel=0.01)


def _score(density: object, x: np.ndarray) -> np.ndarray:
    step = 1e-5
    return (density.logpdf(x + step) - density.logpdf(x - step)) / (2 * step)


@pytest.mark.parametrize("rate_of_censoring", [0.0, 1.0])
def test_a_duration_may_be_censored_at_any_time_chosen_without_it(
    rate_of_censoring: float,
) -> None:
    """δ − Λ of a stopped duration has expectation zero: within 5 of its own sd, which
    one run in two million is not."""
    rng = np.random.default_rng(0)
    count, stops = 100_000, stops_of({"t": Moments(at, ended="dead"), "dead": None})
    assert stops is not None
    lasted = rng.exponential(size=count)
    censored = rng.exponential(1 / max(rate_of_censoring, 1e-9), size=count)
    record = {
        "t": jnp.log(np.minimum(lasted, censored)),
        "dead": jnp.asarray(lasted <= censored, float),
    }
    times = np.log(rng.uniform(0.1, 3, size=count))
    found = stops.stopped(record, times)
    residual = np.asarray(found["dead"]) - np.exp(np.asarray(found["t"], float))
    assert np.all(np.asarray(found["t"]) <= times + 1e-6)
    assert abs(residual.mean()) < 5 * residual.std() / np.sqrt(count)


def test_times_are_of_durations_that_have_not_ended() -> None:
    stops = stops_of({"t": Moments(at, ended="dead"), "dead": None})
    assert stops is not None
    times = stops.times(None, {"t": np.float32(9.0), "dead": np.float32(1.0)})
    assert np.all(np.diff(times["t"]) > 0)
    assert not np.any(times["dead"])
    assert times["t"].dtype == times["dead"].dtype == np.float32


def test_there_are_no_stops_beside_other_responses() -> None:
    moments = Moments(at, ended="dead")
    assert stops_of({"t": moments, "dead": None, "other": None}) is None
    assert stops_of({"t": Moments(at)}) is None
    assert stops_of(None) is None
    assert nodes_of({"t": moments, "dead": None}) is None


@pytest.mark.parametrize("given", [{}, {"dead": (0.0, 1.0)}])
def test_what_says_that_a_duration_ended_is_a_response(
    given: dict[str, object],
) -> None:
    with pytest.raises(InputError, match="'dead'; name that among the responses"):
        check_responses({"t": Moments(at, ended="dead"), **given})


MIXTURES = {
    "far apart": ((-50.0, 50.0), (1.0, 0.5)),
    "one within the other": ((0.0, 1.0), (10.0, 0.01)),
    "nearly one": ((0.0, 1.0), (1.4, 1.4)),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_nodes_of_a_mixture_are_about_each_of_its_components(name: str) -> None:
    """About the mean of all, narrow components would lie between nodes."""
    means, sds = map(jnp.asarray, MIXTURES[name])
    weights = np.array([0.3, 0.7])
    made = nodes_of({"y": Moments(lambda *_: (means, sds, jnp.asarray(weights)))})
    assert made is not None
    with jax.enable_x64(True):
        columns, log_measure = made(None, {"y": np.float64(0)})
    y = np.asarray(columns["y"])
    each = weights * stats.norm.pdf(y[:, None], means, sds)
    found = each * np.exp(np.asarray(log_measure))[:, None]
    found /= found.sum()
    np.testing.assert_allclose(found.sum(axis=0), weights, atol=2e-3)
    np.testing.assert_allclose(y @ found / weights, means, atol=5e-3 * max(sds))


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 3), (0, 0, 0), (1,), (2, 2, 2)])
def test_moments_of_components_that_make_no_sense_are_refused(
    sizes: tuple[int, ...],
) -> None:
    """Those of the last would do, if they were not of counts."""
    parts = tuple(np.ones(size) for size in sizes)
    moments = Moments(lambda *_: parts, is_count=sizes == (2, 2, 2))
    with pytest.raises(InputError, match="three arrays of one length"):
        check_moments({"y": moments}, {}, {"y": np.float32(0)})
