# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""PyMC models of many kinds, as their authors write them, with simulated records.

The first six are of kinds that PyMC's example gallery shows: logistic and robust
regression, Poisson and negative-binomial regression, varying intercepts by county, and
an ordered response. `benchmarks/published_examples.py` runs the gallery's own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm

COUNTIES = 6
GROUPS = [f"county {number}" for number in range(COUNTIES)]


class Case(NamedTuple):
    model: Callable[..., pm.Model]
    simulate: Callable[[np.random.Generator, int], dict[str, np.ndarray]]


def logistic(x, y):
    with pm.Model(coords={"coeffs": ["age", "income"]}) as model:
        b0 = pm.Normal("b0", mu=0, sigma=1)
        b = pm.Normal("b", mu=0, sigma=1, dims="coeffs")
        mu = b0 + pm.math.dot(x, b)
        p = pm.Deterministic("p", pm.math.invlogit(mu))
        pm.Bernoulli("obs", p=p, observed=y)
    return model


def robust(x, y):
    with pm.Model() as model:
        b0 = pm.Normal("Intercept", mu=0, sigma=10)
        b1 = pm.Normal("x", mu=0, sigma=10)
        sigma = pm.HalfCauchy("sigma", beta=10)
        mu = b0 + b1 * x
        pm.StudentT("likelihood", mu=mu, sigma=sigma, nu=3, observed=y)
    return model


def counts(alcohol, meds, nsneeze):
    with pm.Model() as model:
        intercept = pm.Normal("Intercept", mu=0, sigma=5)
        b = pm.Normal("b", mu=0, sigma=1, shape=3)
        mu = pm.math.exp(
            intercept + b[0] * alcohol + b[1] * meds + b[2] * alcohol * meds
        )
        pm.Poisson("y", mu=mu, observed=nsneeze)
    return model


def overdispersed(alcohol, meds, nsneeze):
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", 0.5)
        b = pm.Normal("b", mu=0, sigma=2, shape=3)
        mu = pm.math.exp(b[0] + b[1] * alcohol + b[2] * meds)
        pm.NegativeBinomial("y", mu=mu, alpha=alpha, observed=nsneeze)
    return model


def varying_intercepts(county_idx, floor_ind, log_radon):
    coords = {"county": GROUPS, "obs_id": np.arange(len(log_radon))}
    with pm.Model(coords=coords) as model:
        mu_a = pm.Normal("mu_a", mu=0.0, sigma=10.0)
        sigma_a = pm.Exponential("sigma_a", 1)
        alpha = pm.Normal("alpha", mu=mu_a, sigma=sigma_a, dims="county")
        beta = pm.Normal("beta", mu=0.0, sigma=10.0)
        sd_y = pm.Exponential("sd_y", 1)
        y_hat = alpha[county_idx] + beta * floor_ind
        pm.Normal("y_like", mu=y_hat, sigma=sd_y, observed=log_radon, dims="obs_id")
    return model


def ordered(x, y):
    with pm.Model() as model:
        cutpoints = pm.Normal(
            "cutpoints",
            mu=np.array([-1.0, 1.0]),
            sigma=1.5,
            transform=pm.distributions.transforms.ordered,
        )
        slope = pm.Normal("slope", 0, 1)
        pm.OrderedLogistic("y", eta=slope * x, cutpoints=cutpoints, observed=y)
    return model


def categorical(x, y):
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=(2, 3))
        pm.Categorical("y", logit_p=b[0] + x[:, None] * b[1], observed=y)
    return model


def multivariate(y):
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 3, shape=2)
        chol, _, _ = pm.LKJCholeskyCov(
            "chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2)
        )
        pm.MvNormal("y", mean, chol=chol, observed=y)
    return model


def mixture(y):
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.array([2.0, 2.0]))
        low = pm.Normal("low", -2, 1)
        gap = pm.HalfNormal("gap", 4)
        centres = pm.math.stack([low, low + gap])
        pm.NormalMixture("y", w=weights, mu=centres, sigma=1.0, observed=y)
    return model


def censored(time):
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 4, 2)
        beta = pm.Uniform("beta", 0.1, 10)
        lifetime = pm.Weibull.dist(alpha, beta)
        pm.Censored("time", lifetime, lower=None, upper=3.0, observed=time)
    return model


def truncated(x, y):
    with pm.Model() as model:
        slope = pm.Normal("slope", 0, 1)
        sd = pm.HalfNormal("sd", 1)
        line = pm.Normal.dist(mu=slope * x, sigma=sd)
        pm.Truncated("y", line, lower=-1, upper=2, observed=y)
    return model


def contained(county, floor, radon):
    with pm.Model(coords={"county": GROUPS}) as model:
        place = pm.Data("place", county, dims="row")
        storey = pm.Data("storey", floor, dims="row")
        uranium = pm.Data("uranium", np.linspace(-1, 1, COUNTIES), dims="county")
        level = pm.Normal("level", uranium, 1, dims="county")
        slope = pm.Normal("slope", 0, 1)
        sd = pm.Exponential("sd", 1)
        lower = pm.Normal.dist(mu=level[place] + slope * storey, sigma=sd)
        pm.Censored("radon", lower, lower=0.5, upper=None, observed=radon, dims="row")
    return model


def known_errors(x, error, y):
    with pm.Model() as model:
        slope = pm.Normal("slope", 0, 1)
        nu = pm.InverseGamma("nu", alpha=1, beta=1)
        pm.StudentT("y", mu=slope * x, sigma=error, nu=nu, observed=y)
    return model


def _logistic(rng, n):
    x = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-(0.3 + x @ [1.0, -0.5])))
    return {"x": x, "y": (rng.uniform(size=n) < p).astype(int)}


def _robust(rng, n):
    x = rng.uniform(-1, 1, n)
    return {"x": x, "y": 1 + 2 * x + 0.5 * rng.standard_t(3, n)}


def _counts(dispersion):
    def simulate(rng, n):
        alcohol, meds = rng.integers(0, 2, (2, n))
        mu = np.exp(0.5 + 0.6 * alcohol - 0.4 * meds)
        noise = rng.gamma(dispersion, 1 / dispersion, n) if dispersion else 1.0
        sneezes = rng.poisson(mu * noise)
        return {"alcohol": alcohol, "meds": meds, "nsneeze": sneezes}

    return simulate


def _radon(rng, n):
    county, floor = rng.integers(0, COUNTIES, n), rng.integers(0, 2, n).astype(float)
    level = np.linspace(0.8, 2.0, COUNTIES)[county] - 0.7 * floor
    radon = level + rng.normal(0, 0.7, n)
    return {"county_idx": county, "floor_ind": floor, "log_radon": radon}


def _cut(rng, n):
    x = rng.uniform(-1, 1, n)
    return {"x": x, "y": np.clip(0.7 * x + rng.normal(0, 0.5, n), -0.99, 1.99)}


def _lower(rng, n):
    radon = _radon(rng, n)
    names = ("county", "floor", "radon")
    found = dict(zip(names, radon.values(), strict=True))
    return {**found, "radon": np.maximum(found["radon"], 0.5)}


def _errors(rng, n):
    x, error = rng.uniform(-1, 1, n), rng.uniform(0.3, 0.6, n)
    return {"x": x, "error": error, "y": x + error * rng.standard_t(3, n)}


def _levels(rng, n):
    x = rng.normal(size=n)
    return {"x": x, "y": np.digitize(x + rng.logistic(size=n), [-1.0, 1.0])}


def _plane(rng, n):
    return {"y": rng.normal(size=(n, 2)) @ [[1.0, 0.5], [0.0, 0.8]] + [1.0, -1.0]}


def _mixed(rng, n):
    return {"y": rng.normal(np.where(rng.uniform(size=n) < 0.3, -2, 2), 1)}


def _times(rng, n):
    return {"time": np.minimum(2.0 * rng.weibull(1.5, n), 3.0)}


ZOO = {
    "logistic": Case(logistic, _logistic),
    "robust": Case(robust, _robust),
    "counts": Case(counts, _counts(None)),
    "overdispersed": Case(overdispersed, _counts(1.5)),
    "varying_intercepts": Case(varying_intercepts, _radon),
    "ordered": Case(ordered, _levels),
    "categorical": Case(categorical, _levels),
    "multivariate": Case(multivariate, _plane),
    "mixture": Case(mixture, _mixed),
    "censored": Case(censored, _times),
    "truncated": Case(truncated, _cut),
    "contained": Case(contained, _lower),
    "known_errors": Case(known_errors, _errors),
}
PUBLISHED = list(ZOO)[:6]


def shapes_of_one(records: dict[str, np.ndarray], dtype: str) -> dict[str, Any]:
    """The shape of one record, in the float dtype of a chain."""
    import jax

    whole = "int64" if dtype == "float64" else "int32"
    return {
        name: jax.ShapeDtypeStruct(
            column.shape[1:], dtype if column.dtype.kind == "f" else whole
        )
        for name, column in records.items()
    }
