# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tight gradients of durations: censored before they are long, and without bias."""

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import Model
from dpmcmc.influence.derivatives import Frame
from dpmcmc.model.responses import Moments, nodes_of, stops_of
from dpmcmc.sampling.fit.last_questions import LastAnswer, LastPublic, Tight
from dpmcmc.sampling.fit.questions import Public

SHAPE = 1.4
BOUND = 2.5
"""No duration that ends early has a longer gradient."""


def log_likelihood(theta: jax.Array, record: dict[str, jax.Array]) -> jax.Array:
    scaled = SHAPE * (record["t"] - theta[0] - theta[1] * record["x"])
    return record["dead"] * scaled - jnp.exp(scaled)


def moments(theta: jax.Array, record: dict[str, jax.Array]) -> tuple[object, object]:
    return theta[0] + theta[1] * record["x"], 1 / SHAPE


RESPONSES = {"t": Moments(moments, ended="dead"), "dead": None}
MODEL = Model(
    log_likelihood,
    lambda theta: -jnp.sum(theta**2),
    np.zeros(2),
    responses=RESPONSES,
)


def records(count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, size=count)
    lasted = x + np.log(rng.exponential(size=count)) / SHAPE
    censored = rng.normal(1.0, 1.0, size=count)
    return {
        "x": x.astype(np.float32),
        "t": np.minimum(lasted, censored).astype(np.float32),
        "dead": (lasted <= censored).astype(np.float32),
    }


def parts(table: dict[str, np.ndarray], tight: float) -> np.ndarray:
    """The first part of what records answer: tight gradients, in units of the bound."""
    tight_ones = Tight(jnp.asarray, nodes_of(RESPONSES), stops_of(RESPONSES))
    question = LastAnswer(tight_ones)
    at = Public(Frame(np.array([0.0, 1.0]), np.eye(2)), np.ones(2), 1.0)
    public = LastPublic(at, tight, 50.0, 50.0, np.array([1.0, 1e-3, 0.0, 0.0]))
    answers = jax.jit(jax.vmap(lambda record: question(MODEL, record, public)))(table)
    return np.asarray(answers.free, np.float64)[:, :2]


def test_tight_gradients_have_expectation_zero() -> None:
    """Within 5 of their sd, which one run in a million is not; clipping alone is
    biased by many times that."""
    count = 100_000
    table = records(count)
    near = parts(table, BOUND)
    assert np.all(np.linalg.norm(near, axis=1) <= 1 + 1e-5)
    error = near.std(axis=0) / np.sqrt(count)
    assert np.all(np.abs(near.mean(axis=0)) < 5 * error)
    whole = 50 * parts(table, 50.0)  # nothing is stopped or clipped
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    clipped = whole * np.minimum(1, BOUND / np.maximum(lengths, 1e-9))
    bias = np.abs(clipped.mean(axis=0)) / (clipped.std(axis=0) / np.sqrt(count))
    assert np.max(bias) > 20


def test_when_a_duration_is_censored_depends_on_covariates_alone() -> None:
    """Records that last longer than the stop answer alike, however long they last."""
    late = {
        "x": np.full(3, 0.3, np.float32),
        "t": np.array([3.0, 4.0, 5.0], np.float32),
        "dead": np.array([1.0, 0.0, 1.0], np.float32),
    }
    near = parts(late, BOUND)
    assert np.all(near == near[0])
    assert np.any(near[0] != 0)
