# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The default method from end to end, beside posteriors that are known.

All runs have seeds, so that a test that passes once passes always.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc
from dpmcmc import ControlVariates, InputError, Model, NotUsableError, Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.proposals import RandomWalk
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.stages import Events

PRIOR_SD = 5.0


def log_prior(theta: Any) -> Any:
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in theta.values()) / PRIOR_SD**2


def logistic_part(theta: Any, record: Any) -> Any:
    eta = theta["a"] + theta["b"] @ record["x"]
    return record["y"] * eta - jnp.logaddexp(0.0, eta)


def normal_part(theta: Any, record: Any) -> Any:
    away = record["y"] - theta["a"] - theta["b"] * record["x"]
    return -theta["log_sd"] - 0.5 * (away * jnp.exp(-theta["log_sd"])) ** 2


LOGISTIC = Model(logistic_part, log_prior, {"a": 0.0, "b": np.zeros(2)})
NORMAL = Model(normal_part, log_prior, {"a": 0.0, "b": 0.0, "log_sd": 0.0})


def draw(model: Model, records: Any, **settings: Any) -> Posterior:
    return dpmcmc.sample_not_private(model, records, progress=False, **settings)


def binary(size: int, truth: list[float], seed: int = 0) -> Any:
    """Records, and mean and sd of their posterior at its mode."""
    generator = np.random.default_rng(seed)
    x = np.column_stack([np.ones(size), generator.normal(size=(size, 2))])
    y = (generator.random(size) < 1 / (1 + np.exp(-x @ np.array(truth)))) * 1.0
    mode = np.zeros(3)
    for _ in range(40):
        chance = 1 / (1 + np.exp(-x @ mode))
        precision = (x * (chance * (1 - chance))[:, None]).T @ x
        precision += np.eye(3) / PRIOR_SD**2
        mode += np.linalg.solve(precision, x.T @ (y - chance) - mode / PRIOR_SD**2)
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    return {"x": x[:, 1:], "y": y}, mode, sd


def flat(draws: Any) -> np.ndarray:
    """Draws of all parameters, one in a row."""
    rows = [np.reshape(leaf, (*leaf.shape[:2], -1)) for leaf in draws.values()]
    together = np.concatenate(rows, axis=-1)
    return together.reshape(-1, together.shape[-1])


def usability(model: Model, records: Any, **settings: Any) -> str:
    """What the verdict says, or that the run was refused."""
    try:
        found = draw(model, records, **settings)
    except NotUsableError:
        return "refused"
    assert found.statement.verdict is not None
    return found.statement.verdict.usability


class Untouched(MemoryCheckpoint):
    """A checkpoint that must not be asked for anything."""

    def reserve(self, events: Events, statement: Statement) -> None:
        raise AssertionError("a run was begun")


# Right posteriors.


@pytest.fixture(scope="module")
def common() -> Any:
    return binary(20_000, [0.3, 0.5, -1.0])


@pytest.mark.parametrize("seed", range(3))
def test_a_logistic_regression(common: Any, seed: int) -> None:
    """Means within 4 of their own sd, where 9 numbers go beyond once in 2,000 tries."""
    records, mode, sd = common
    found = draw(LOGISTIC, records, epsilon=4, seed=seed)
    draws, own = flat(found.draws), flat(found.chain_draws)
    assert found.statement.verdict is not None
    assert found.statement.verdict.usability == "usable"
    assert np.all(np.abs(draws.mean(axis=0) - mode) < 4 * draws.std(axis=0))
    assert np.all(draws.std(axis=0) > 0.99 * own.std(axis=0))
    assert np.all(draws.std(axis=0) < 2 * sd)
    assert [row.name for row in found.statement.stages] == ["fit", "chain", "check"]
    assert sum(row.fraction for row in found.statement.stages) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_a_model_whose_one_parameter_is_a_scale(epsilon: float) -> None:
    """The log rate of an exponential: its curvature follows from its gradient.

    That it is known without noise once was a division by zero.
    """
    model = Model(
        lambda theta, record: theta["rate"] - record * jnp.exp(theta["rate"]),
        log_prior,
        {"rate": 0.0},
    )
    records = np.random.default_rng(0).exponential(size=20_000) / 3
    found = draw(model, records, epsilon=epsilon, seed=0)
    draws = flat(found.draws)
    mode = -np.log(np.mean(records))
    assert np.all(np.abs(draws.mean(axis=0) - mode) < 4 * draws.std(axis=0))
    assert draws.std() < 0.2 / epsilon


def test_without_a_budget_the_posterior_is_exact(common: Any) -> None:
    """To 6 Monte Carlo sd; its mode is its mean to a few hundredths of an sd."""
    records, mode, sd = common
    found = draw(LOGISTIC, records, seed=0)
    draws, effective = flat(found.draws), found.summary()["ess_bulk"].min()
    error = np.abs(draws.mean(axis=0) - mode) / sd
    assert np.all(error < 6 / np.sqrt(effective) + 0.03)
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.1)
    assert [row.name for row in found.statement.stages] == ["fit", "chain"]


def test_forms_of_group_effects_agree() -> None:
    """y ~ N(effect of its group, 1) with effects about a common mean: closed form."""
    groups, size = 5, 4000
    generator = np.random.default_rng(1)
    group = generator.integers(0, groups, size)
    y = generator.normal(generator.normal(2, 1, groups)[group])
    records = {"group": group, "y": y}

    def hyper(theta: Any) -> Any:
        return -0.5 * theta["mu"] ** 2 / PRIOR_SD**2

    start = {"mu": 0.0, "u": np.zeros(groups)}
    centred = Model(
        lambda t, r: -0.5 * (r["y"] - t["u"][r["group"]]) ** 2,
        lambda t: hyper(t) - 0.5 * jnp.sum((t["u"] - t["mu"]) ** 2),
        start,
    )
    added = Model(
        lambda t, r: -0.5 * (r["y"] - t["mu"] - t["u"][r["group"]]) ** 2,
        lambda t: hyper(t) - 0.5 * jnp.sum(t["u"] ** 2),
        start,
    )
    # Effects have the prior N(0, 1 + 25 for all alike).
    prior = np.linalg.inv(np.eye(groups) + PRIOR_SD**2)
    counts = np.bincount(group, minlength=groups)
    covariance = np.linalg.inv(prior + np.diag(counts))
    mean = covariance @ np.bincount(group, y, minlength=groups)
    sd = np.sqrt(np.diag(covariance))
    for model, shift in ((centred, 0.0), (added, 1.0)):
        found = draw(model, records, seed=0)
        effects = found.draws["u"] + shift * found.draws["mu"][..., None]
        effects = effects.reshape(-1, groups)
        effective = found.summary()["ess_bulk"].min()
        error = np.abs(effects.mean(axis=0) - mean) / sd
        assert np.all(error < 6 / np.sqrt(effective))
        np.testing.assert_allclose(effects.std(axis=0), sd, rtol=0.15)


# Honest verdicts.


def test_a_curved_ridge_is_not_usable() -> None:
    ridge = Model(
        lambda t, y: -0.5 * (y - t["b"] - 300 * t["a"] ** 2) ** 2,
        lambda t: -0.5 * (t["a"] / 0.04) ** 2 - 0.5 * (t["b"] / 10) ** 2,
        {"a": 0.0, "b": 0.0},
    )
    y = np.random.default_rng(0).normal(size=20_000)
    for seed in range(3):
        assert usability(ridge, y, epsilon=2, seed=seed) in ("refused", "not usable")


def test_a_ridge_that_no_clip_sees_is_refused_before_decisions_are_made() -> None:
    """Each record's residual is far below the clip; all of them are of one sign."""
    ridge = Model(
        lambda t, y: (
            -0.00025 * (y[0] - t["a"]) ** 2
            - 0.0002 * (y[1] - t["b"] - 20 * t["a"] ** 2) ** 2
        ),
        lambda t: -0.0005 * (t["a"] ** 2 + (t["b"] + 20 * t["a"] ** 2) ** 2),
        {"a": 0.0, "b": 0.0},
    )
    generator = np.random.default_rng(0)
    y = np.array([0.0, 3.0]) + generator.normal(size=(100_000, 2)) * [45.0, 50.0]
    for seed in range(3):
        assert usability(ridge, y, epsilon=2, seed=seed) == "refused"


def test_in_a_flat_direction_the_prior_decides() -> None:
    """A column that is constant: records inform the sum of two coefficients.

    Their difference has the sd of the prior, √2 · 5. What noise takes for curvature
    there is a few hundredths of the prior's: with 6 Monte Carlo errors, within 4% more.
    """
    generator = np.random.default_rng(1)
    records = {"x": np.ones(20_000), "y": generator.normal(size=20_000)}
    for seed in range(2):
        found = draw(NORMAL, records, epsilon=2, seed=seed)
        draws = found.draws["a"] - found.draws["b"]
        effective = found.summary()["ess_bulk"][["a", "b"]].min()
        error = 6 / np.sqrt(2 * effective) + 0.04
        assert draws.std() == pytest.approx(np.sqrt(2) * PRIOR_SD, rel=error)
        assert abs(draws.mean()) < 6 * draws.std() / np.sqrt(effective)
        both = found.draws["a"] + found.draws["b"]
        assert abs(both.mean() - records["y"].mean()) < 4 * both.std()
        assert both.std() < 2 / np.sqrt(20_000)


def test_rare_events_are_never_called_usable_and_wrong() -> None:
    records, mode, _ = binary(2000, [-3.0, 0.5, -0.5])
    for seed in range(4):
        try:
            found = draw(LOGISTIC, records, epsilon=2, seed=seed)
        except NotUsableError:
            continue
        assert found.statement.verdict is not None
        draws = flat(found.draws)
        if found.statement.verdict.usability != "not usable":
            error = np.abs(draws.mean(axis=0) - mode)
            assert np.all(error < 3 * draws.std(axis=0))


def test_heavy_tails_are_in_the_intervals_or_in_the_verdict() -> None:
    """Noise with 3 degrees of freedom under a normal model, by least squares.

    Its sd rests on so few records that no histogram shows them all: it is covered, or
    the verdict says that intervals are wide.
    """
    generator = np.random.default_rng(2)
    x = generator.normal(size=20_000)
    y = 1 + 2 * x + generator.standard_t(3, size=20_000)
    table = np.column_stack([np.ones_like(x), x])
    best = np.linalg.lstsq(table, y)[0]
    log_sd = np.log(np.std(y - table @ best))
    for seed in range(3):
        try:
            found = draw(NORMAL, {"x": x, "y": y}, epsilon=2, seed=seed)
        except NotUsableError:
            continue
        draws = flat(found.draws)
        error = np.abs(draws.mean(axis=0) - [*best, log_sd])
        assert found.statement.verdict is not None
        if found.statement.verdict.usability == "not usable":
            continue
        is_covered = error < 3 * draws.std(axis=0)
        assert np.all(is_covered[:2])
        assert is_covered[2] or found.statement.verdict.usability != "usable"


# What is given.


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_constants_of_numpy_and_integer_columns(precision: Any) -> None:
    """In double precision integers are int64, which hold no 2⁶³."""
    weights, widths = np.array([1.0, 2.0], "float32"), np.array([5.0, 5.0])
    shifts = np.array([0.5, -0.5])
    model = Model(
        lambda t, r: (
            -0.5 * (r["y"] - t @ (weights * r["x"]) - jnp.take(shifts, r["k"])) ** 2
        ),
        lambda t: -0.5 * jnp.sum((t / widths) ** 2),
        np.zeros(2),
    )
    generator = np.random.default_rng(3)
    x, k = generator.normal(size=(1000, 2)), np.arange(1000) % 2
    y = x @ np.array([1.0, -2.0]) + shifts[k] + generator.normal(size=1000)
    records = {"x": x, "y": y, "k": k}
    found = draw(model, records, seed=0, steps=200, precision=precision)
    draws = flat(found.draws)
    assert draws.dtype == np.dtype(precision)
    error = np.abs(draws.mean(axis=0) - [1.0, -1.0])
    assert np.all(error < 5 * draws.std(axis=0))


REFUSED = {
    "a discrete parameter": (Model(lambda t, y: -((y - t) ** 2), lambda t: 0.0, 0), {}),
    "a Python function": (
        Model(dpmcmc.PythonFunction(lambda t, y: -((y - t) ** 2)), lambda t: 0.0, 0.0),
        {},
    ),
    "a proposal of another size": (
        Model(lambda t, y: -((y - t) ** 2), lambda t: 0.0, 0.0),
        {"method": ControlVariates(proposal=RandomWalk(np.eye(3)))},
    ),
    "a warm-up that is too long": (
        Model(lambda t, y: -((y - t) ** 2), lambda t: 0.0, 0.0),
        {"steps": 10, "warmup": 10},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_before_a_run_begins(name: str) -> None:
    model, settings = REFUSED[name]
    with pytest.raises(InputError):
        dpmcmc.sample(
            model,
            np.zeros(100),
            **{"epsilon": 1.0, "delta": 1e-6, "method": ControlVariates(), **settings},
            checkpoint=Untouched(),
            progress=False,
        )


def test_a_proposal_may_be_given(common: Any) -> None:
    records, mode, sd = common
    method = ControlVariates(proposal=RandomWalk(0.02))
    found = draw(LOGISTIC, records, seed=0, method=method, steps=500)
    assert np.all(np.abs(flat(found.draws).mean(axis=0) - mode) < sd)
    assert "RandomWalk" in found.settings["proposal"]
