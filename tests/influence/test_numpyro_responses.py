# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""NumPyro models say by themselves what can be clipped without bias."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist

from dpmcmc.adapters import from_numpyro
from dpmcmc.influence import Centred, Restored, Shifted, Shrunk
from dpmcmc.influence.choices import ConditionalCentring, ModelCorrection, Shrinking
from dpmcmc.model.responses import Moments
from dpmcmc.private import Grid

GRID = Grid(0.01)


def logistic(x, y):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=slope * x), obs=y)


def linear(x, y):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Normal(slope * x, 1.0), obs=y)


def both(x, y, z):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Categorical(logits=jnp.ones(3) * slope), obs=y)
        numpyro.sample("z", dist.Poisson(jnp.exp(slope * x)), obs=z)


def trials(x, y):
    """As many trials as a column says: the values are not the same for all."""
    logit = numpyro.sample("logit", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Binomial(total_count=x, logits=logit), obs=y)


def whole(x):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("x", dist.Normal(mean, 1.0), obs=x)


def transformed(x, y):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Normal(slope * x, 1.0), obs=jnp.log(1 + y**2))


def scaled(x, y):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]), numpyro.handlers.scale(scale=0.5):
        numpyro.sample("y", dist.Bernoulli(logits=slope * x), obs=y)


def two_normals(y):
    gap = numpyro.sample("gap", dist.Normal(0, 1))
    shares = dist.Categorical(probs=jnp.array([0.3, 0.7]))
    each = dist.Normal(jnp.stack([-gap, gap]), jnp.array([0.1, 2.0]))
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.MixtureSameFamily(shares, each), obs=y)


def adapted(model, names="xy", whole_numbers=()):
    one = {
        name: jax.ShapeDtypeStruct((), "int32" if name in whole_numbers else "float32")
        for name in names
    }
    return from_numpyro(model, 10, one), one


@pytest.mark.parametrize(
    ("model", "names", "whole_numbers", "responses"),
    [
        (logistic, "xy", "y", {"y": (0.0, 1.0)}),
        (logistic, "xy", "", {"y": (0.0, 1.0)}),
        (linear, "xy", "", {"y": "moments"}),
        (both, "xyz", "yz", {"y": (0.0, 1.0, 2.0), "z": "counts"}),
        (trials, "xy", "", {"y": "counts"}),
        (whole, "x", "", {"x": "moments"}),
        (two_normals, "y", "", {"y": "moments"}),
        (transformed, "xy", "", None),
        (scaled, "xy", "y", None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_responses_are_the_observed_columns(model, names, whole_numbers, responses):
    found = adapted(model, names, whole_numbers)[0].responses
    is_count = {
        name: given.is_count
        for name, given in (found or {}).items()
        if isinstance(given, Moments)
    }
    listed = None if found is None else dict(found)
    for name, counts in is_count.items():
        assert listed is not None
        listed[name] = "counts" if counts else "moments"
    assert listed == responses


def test_moments_are_those_of_the_distribution():
    model, _ = adapted(linear)
    mean, sd = model.responses["y"].at(
        {"slope": jnp.float32(0.5)}, {"x": jnp.float32(3.0), "y": jnp.float32(0.0)}
    )
    assert (float(mean), float(sd)) == pytest.approx((1.5, 1.0))


def test_moments_of_a_mixture_are_those_of_its_components():
    """Nodes about the mean of all might miss every one of them."""
    model, _ = adapted(two_normals, "y")
    record = {"y": jnp.float32(0.0)}
    found = model.responses["y"].at({"gap": jnp.float32(4.0)}, record)
    expected = [[-4.0, 4.0], [0.1, 2.0], [0.3, 0.7]]
    np.testing.assert_allclose(np.stack(found), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("clipping", "model", "names", "kind"),
    [
        (Shrinking(), logistic, "xy", Shrunk),
        (ConditionalCentring(), logistic, "xy", Centred),
        (ConditionalCentring(), linear, "xy", Restored),
        (ModelCorrection(simulated=50), whole, "x", Shifted),
    ],
)
def test_each_way_fits_a_numpyro_model(clipping, model, names, kind):
    """Numbers of one record come out, whatever else the adapter compiles."""
    model, one = adapted(model, names)
    influence = clipping.influence(model, one, GRID, 10)
    assert isinstance(influence, kind)
    here = jax.tree.map(jnp.asarray, model.initial)
    there = jax.tree.map(lambda leaf: leaf + 0.1, here)

    def both_parts(record):
        extras = influence.extras(model, record)
        looks = [
            influence.look(model, theta, record, extras, "float32")
            for theta in (here, there)
        ]
        ratio = influence.ratio(*looks, record, extras)
        return ratio + influence.public(model, here, there)

    record = {name: jnp.ones(7) for name in names}
    numbers = jax.jit(jax.vmap(both_parts))(record)
    assert numbers.shape == (7,)
    assert jnp.all(jnp.isfinite(numbers))
