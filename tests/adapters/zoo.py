# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""NumPyro models of many kinds, as their authors would write them, with records.

Each has simulated records, and a reference: a model with the same posterior that
NumPyro's own inference can run, where discrete latents are marginalised by hand.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist
from numpyro import handlers

from dpmcmc import Model
from dpmcmc.adapters import from_numpyro

COUNT = 250


class Case(NamedTuple):
    model: Callable[..., Any]
    records: dict[str, np.ndarray]
    reference: Callable[..., Any]


@functools.cache
def adapted(name: str) -> Model:
    """A model of the zoo, adapted; the same one in all tests."""
    case = ZOO[name]
    return from_numpyro(case.model, COUNT, shapes_of_one(case.records, "float32"))


def shapes_of_one(records: dict[str, np.ndarray], dtype: str) -> Any:
    """The shape of one record in a chain of the given float dtype."""
    kinds = {"f": np.dtype(dtype), "i": np.dtype("int32"), "b": np.dtype(bool)}
    return {
        name: jax.ShapeDtypeStruct(column.shape[1:], kinds[column.dtype.kind])
        for name, column in records.items()
    }


def normal(y):
    mean = numpyro.sample("mean", dist.Normal(0, 5))
    sd = numpyro.sample("sd", dist.HalfNormal(3))
    numpyro.deterministic("cv", sd / mean)
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.Normal(mean, sd), obs=y)


def linear(x, y=None):
    intercept = numpyro.sample("intercept", dist.Normal(0, 3))
    with numpyro.plate("features", x.shape[1]):
        slope = numpyro.sample("slope", dist.Normal(0, 2))
    sd = numpyro.sample("sd", dist.Exponential(1))
    with numpyro.plate("records", x.shape[0]):
        line = numpyro.deterministic("line", intercept + x @ slope)
        numpyro.sample("y", dist.Normal(line, sd), obs=y)


def logistic(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0, 2).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=x @ slope), obs=y)


def poisson(x, y):
    slope = numpyro.sample("slope", dist.MultivariateNormal(jnp.zeros(3), jnp.eye(3)))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Poisson(jnp.exp(x @ slope)), obs=y)


def hierarchical(group, y, groups):
    centre = numpyro.sample("centre", dist.Normal(0, 3))
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    with numpyro.plate("groups", groups):
        unit = numpyro.sample("unit", dist.Normal(0, 1))
    effect = numpyro.deterministic("effect", centre + spread * unit)
    sd = numpyro.sample("sd", dist.HalfNormal(2))
    with numpyro.plate("records", group.shape[0]):
        numpyro.sample("y", dist.Normal(effect[group], sd), obs=y)


def _components():
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.full(2, 2.0)))
    low = numpyro.sample("low", dist.Normal(-2, 1))
    gap = numpyro.sample("gap", dist.Gamma(4, 1))
    return weights, jnp.stack([low, low + gap])


def mixture_enumerated(y):
    weights, centres = _components()
    with numpyro.plate("records", y.shape[0]):
        part = numpyro.sample("part", dist.Categorical(weights))
        numpyro.sample("y", dist.Normal(centres[part], 1), obs=y)


def mixture_same_family(y):
    weights, centres = _components()
    law = dist.MixtureSameFamily(dist.Categorical(weights), dist.Normal(centres, 1))
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", law, obs=y)


def multivariate_normal(y):
    size = y.shape[1]
    mean = numpyro.sample("mean", dist.Normal(0, 3).expand([size]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(2).expand([size]).to_event(1))
    shape = numpyro.sample("shape", dist.LKJCholesky(size, 2.0))
    factor = scale[:, None] * shape
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.MultivariateNormal(mean, scale_tril=factor), obs=y)


def ordinal(x, y):
    slope = numpyro.sample("slope", dist.Normal(0, 2))
    ordered = dist.transforms.OrderedTransform()
    base = dist.Normal(0, 2).expand([3]).to_event(1)
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(base, ordered))
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.OrderedLogistic(slope * x, cuts), obs=y)


def survival(x, time, died):
    """Weibull times; who is still alive has only outlived the time."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    level = numpyro.sample("level", dist.Normal(0, 2))
    shape = numpyro.sample("shape", dist.LogNormal(0, 0.5))
    with numpyro.plate("records", time.shape[0]):
        scale = jnp.exp(level + slope * x)
        with handlers.mask(mask=died):
            numpyro.sample("time", dist.Weibull(scale, shape), obs=time)
        outlived = -((time / scale) ** shape)
        numpyro.factor("alive", jnp.where(died, 0.0, outlived))


def several_sites(x, visits, cost):
    """A count, then an amount that depends on it, given as columns of one record."""
    rate = numpyro.sample("rate", dist.Gamma(2, 1))
    price = numpyro.sample("price", dist.Normal(1, 1).expand([2]).to_event(1))
    sd = numpyro.sample("sd", dist.HalfNormal(1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("visits", dist.Poisson(rate * jnp.exp(0.3 * x)), obs=visits)
        numpyro.sample("cost", dist.Normal(price[0] + price[1] * visits, sd), obs=cost)


def trials(n, y):
    """Counts out of as many trials as a column says."""
    chance = numpyro.sample("chance", dist.Uniform(0, 1))
    with numpyro.plate("records", n.shape[0]):
        numpyro.sample("y", dist.Binomial(n, probs=chance), obs=y)


def without_plate(x, other, y):
    """Sites with an entry for each record, in no plate."""
    slope = numpyro.sample("slope", dist.Normal(0, 2).expand([2]))
    sd = numpyro.sample("sd", dist.HalfNormal(1))
    numpyro.sample("other", dist.Normal(0.3, sd), obs=other)
    numpyro.sample("y", dist.Normal(x @ slope, sd), obs=y)


def _zoo() -> dict[str, Case]:
    rng = np.random.default_rng(20)
    x = rng.normal(size=COUNT)
    features = rng.normal(size=(COUNT, 3))
    slope = np.array([0.5, -1.0, 0.3])
    group = rng.integers(0, 5, COUNT)
    effects = rng.normal(1, 1, 5)
    low = rng.random(COUNT) < 0.4
    factor = np.array([[1.0, 0.0], [0.6, 0.8]])
    times, limit = rng.weibull(1.5, COUNT) * np.exp(0.5 * x), rng.uniform(0.5, 3, COUNT)
    visits = rng.poisson(1.5 * np.exp(0.3 * x))
    two_parts = {"y": rng.normal(np.where(low, -1.5, 2.0), 1.0)}
    by_group = functools.partial(hierarchical, groups=5)
    scores = 1.2 * x + rng.logistic(size=COUNT)
    records = {
        normal: {"y": rng.normal(1.0, 2.0, COUNT)},
        linear: {"x": features, "y": 1 + features @ slope + rng.normal(size=COUNT)},
        logistic: {
            "x": features,
            "y": (rng.random(COUNT) < 1 / (1 + np.exp(-features @ slope))).astype(int),
        },
        poisson: {"x": features, "y": rng.poisson(np.exp(features @ slope))},
        by_group: {"group": group, "y": rng.normal(effects[group], 1.0)},
        mixture_same_family: two_parts,
        multivariate_normal: {"y": rng.normal(size=(COUNT, 2)) @ factor.T},
        ordinal: {"x": x, "y": np.digitize(scores, [-1.0, 0.5, 2.0])},
        survival: {
            "x": x,
            "time": np.minimum(times, limit),
            "died": times <= limit,
        },
        several_sites: {
            "x": x,
            "visits": visits,
            "cost": rng.normal(0.5 + 1.2 * visits, 0.7),
        },
        trials: {
            "n": (tries := rng.integers(1, 20, COUNT)),
            "y": rng.binomial(tries, 0.3),
        },
        without_plate: {
            "x": features[:, :2],
            "other": rng.normal(0.3, 1.0, COUNT),
            "y": rng.normal(features[:, :2] @ slope[:2], 1.0),
        },
    }
    cases = {
        getattr(model, "func", model).__name__: Case(model, columns, model)
        for model, columns in records.items()
    }
    enumerated = Case(mixture_enumerated, two_parts, mixture_same_family)
    return {**cases, "mixture_enumerated": enumerated}


ZOO = _zoo()


def columns(case: Case, dtype: str) -> dict[str, jax.Array]:
    """All records of a case, as the model reads them in a chain of the given dtype."""
    return {
        name: jnp.asarray(column, dtype if column.dtype.kind == "f" else None)
        for name, column in case.records.items()
    }


def near_start(model: Model, dtype: str) -> dict[str, Any]:
    """An unconstrained point near the start."""
    rng = np.random.default_rng(1)
    return {
        name: jnp.asarray(value + rng.normal(0, 0.5, np.shape(value)), dtype)
        for name, value in model.initial.items()
    }
