# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The likelihood and the prior of an adapted model are NumPyro's own."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from adapting import by_record, of_one, simple
from hypothesis import given, settings
from hypothesis import strategies as st
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.infer import log_likelihood
from numpyro.infer.util import constrain_fn, potential_energy
from scipy import stats
from zoo import COUNT, ZOO, Case, adapted, columns, near_start, shapes_of_one

from dpmcmc.adapters import from_numpyro
from dpmcmc.model.model import Model, check_model


class Found(NamedTuple):
    """Log-densities of the records and of all, and parameters on their own scale."""

    records: Any
    joint: Any
    latent: Any


def by_adapter(model: Model, theta: Any, records: Any) -> Found:
    each = jax.vmap(model.record_log_likelihood, (None, 0))(theta, records)
    joint = model.log_prior(theta) + jnp.sum(each)
    return Found(each, joint, model.transform(theta))


def by_numpyro(case: Case, theta: Any, records: Any) -> Found:
    args = (case.reference, (), records, theta)
    latent = constrain_fn(*args)
    batched = jax.tree.map(lambda leaf: leaf[None], latent)
    sites = log_likelihood(case.reference, batched, **records)
    each = sum(site[0] for site in sites.values())
    return Found(each, -potential_energy(*args), latent)


PLAIN = ("normal", "linear", "poisson", "mixture_same_family")
"""Models with nothing that others of the zoo do not have: tried by the slow tests."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in PLAIN else n for n in ZOO],
)
def test_the_densities_are_those_of_numpyro(name):
    """By record with `log_likelihood`, and all together with `potential_energy`."""
    case, model = ZOO[name], adapted(name)
    with jax.enable_x64(True):
        theta, records = near_start(model, "float64"), columns(case, "float64")
        check_model(model, theta, shapes_of_one(case.records, "float64"))
        ours = jax.jit(partial(by_adapter, model))(theta, records)
        theirs = jax.jit(partial(by_numpyro, case))(theta, records)
    assert ours.records.shape == (COUNT,)
    assert ours.records.dtype == ours.joint.dtype == np.float64
    close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)
    close(ours.records, theirs.records)
    close(ours.joint, theirs.joint)
    for site, value in theirs.latent.items():
        close(ours.latent[site], value)


@pytest.mark.parametrize("name", ["mixture_enumerated"])
def test_both_precisions_agree(name):
    """The same adapted model serves chains of either."""
    case, model = ZOO[name], adapted(name)
    found = {}
    for dtype in ("float32", "float64"):
        with jax.enable_x64(dtype == "float64"):
            theta, records = near_start(model, dtype), columns(case, dtype)
            check_model(model, theta, shapes_of_one(case.records, dtype))
            found[dtype] = jax.jit(partial(by_adapter, model))(theta, records)
        assert found[dtype].records.dtype == dtype
        assert found[dtype].joint.dtype == dtype
    single, double = found.values()
    np.testing.assert_allclose(single.records, double.records, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", ["survival"])
def test_the_gradient_is_that_of_numpyro(name):
    """A private fit climbs it; of each record it is finite."""
    case, model = ZOO[name], adapted(name)

    def theirs(theta, records):
        return -potential_energy(case.reference, (), records, theta)

    with jax.enable_x64(True):
        theta, records = near_start(model, "float64"), columns(case, "float64")
        each = jax.vmap(jax.grad(model.log_likelihood), (None, 0))
        by_record = jax.device_get(jax.jit(each)(theta, records))
        prior = jax.device_get(jax.jit(jax.grad(model.log_prior))(theta))
        expected = jax.jit(jax.grad(theirs))(theta, records)
    for site, value in expected.items():
        assert np.all(np.isfinite(by_record[site]))
        found = prior[site] + by_record[site].sum(axis=0)
        np.testing.assert_allclose(found, value, rtol=1e-7)


def test_draws_of_the_prior_are_shown_on_their_own_scale():
    model = adapted("hierarchical")
    theta = jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(1), 20))
    shown = jax.vmap(model.transform)(theta)
    assert {name: value.shape[1:] for name, value in shown.items()} == {
        "centre": (),
        "spread": (),
        "unit": (5,),
        "sd": (),
        "effect": (5,),
    }
    assert set(theta) == set(shown) - {"effect"}
    assert np.all(shown["spread"] > 0)
    effect = shown["centre"][:, None] + shown["spread"][:, None] * shown["unit"]
    np.testing.assert_allclose(shown["effect"], effect, rtol=1e-5)


def test_values_of_records_are_not_shown():
    """A deterministic site in the plate has a value for each record; so has a copy."""

    def model(x, y):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        numpyro.deterministic("largest", jnp.max(y))
        numpyro.deterministic("number", jnp.zeros(y.shape[0]))
        numpyro.deterministic("double", 2 * slope)
        with numpyro.plate("records", x.shape[0]):
            line = numpyro.deterministic("line", slope * x)
            numpyro.sample("y", dist.Normal(line, 1), obs=y)

    assert set(simple(model, "xy").transform({"slope": 1.0})) == {"slope", "double"}


# Discrete latents inside the plate.


def two_stages(y):
    """One latent depends on another, and an inner plate has two of it."""
    rate = numpyro.sample("rate", dist.Beta(2, 2))
    with numpyro.plate("records", y.shape[0], dim=-2):
        first = numpyro.sample("first", dist.Categorical(jnp.array([0.2, 0.3, 0.5])))
        with numpyro.plate("twice", 2, dim=-1):
            second = numpyro.sample("second", dist.Bernoulli(rate / (1 + first)))
            numpyro.sample("y", dist.Normal(second + 0.5 * first, 1.0), obs=y)


def test_dependent_discrete_latents_are_summed_over():
    one = {"y": jax.ShapeDtypeStruct((2,), np.float32)}
    model = from_numpyro(two_stages, 7, one)
    theta, y = {"rate": jnp.float32(0.4)}, np.array([0.7, -0.2])
    rate = float(model.transform(theta)["rate"])
    expected = 0.0
    for first, weight in enumerate([0.2, 0.3, 0.5]):
        chance = rate / (1 + first)
        inner = [
            (1 - chance) * stats.norm.pdf(part, 0.5 * first)
            + chance * stats.norm.pdf(part, 1 + 0.5 * first)
            for part in y
        ]
        expected += weight * np.prod(inner)
    found = of_one(model, theta, {"y": jnp.asarray(y, jnp.float32)})
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-5)


@settings(max_examples=30)
@given(
    st.lists(st.floats(-3, 3), min_size=3, max_size=3),
    st.lists(st.floats(0.05, 1), min_size=3, max_size=3),
    st.floats(-5, 5),
)
def test_summing_over_a_latent_is_the_mixture(centres, weights, value):
    """For any centres, weights and record; all are data of one compiled model."""
    theta = {"centre": jnp.asarray(centres, jnp.float32)}
    record = {
        "y": jnp.float32(value),
        "w": jnp.asarray(np.array(weights) / np.sum(weights), jnp.float32),
    }
    summed, mixed = (float(f(theta, record)) for f in _mixtures())
    assert summed == pytest.approx(mixed, rel=1e-4, abs=1e-4)


_COMPILED: list[Any] = []


def _mixtures() -> list[Any]:
    if not _COMPILED:
        one = {
            "y": jax.ShapeDtypeStruct((), np.float32),
            "w": jax.ShapeDtypeStruct((3,), np.float32),
        }
        for hidden in (True, False):

            def model(y, w, hidden=hidden):
                centre = numpyro.sample(
                    "centre", dist.Normal(0, 1).expand([3]).to_event(1)
                )
                with numpyro.plate("records", y.shape[0]):
                    part = dist.Categorical(w)
                    if hidden:
                        law = dist.Normal(centre[numpyro.sample("part", part)], 1)
                    else:
                        law = dist.MixtureSameFamily(part, dist.Normal(centre, 1))
                    numpyro.sample("y", law, obs=y)

            _COMPILED.append(jax.jit(from_numpyro(model, 9, one).log_likelihood))
    return _COMPILED


def test_the_records_may_stand_along_any_axis():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1).expand([3]).to_event(1))
        with numpyro.plate("times", 3, dim=-2), numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean[:, None], 1), obs=y.T)

    one = {"y": jax.ShapeDtypeStruct((3,), np.float32)}
    adapted = from_numpyro(model, 7, one)
    theta, y = {"mean": jnp.array([0.0, 1.0, 2.0])}, jnp.array([0.5, 0.5, 1.0])
    expected = stats.norm.logpdf(y - theta["mean"]).sum()
    np.testing.assert_allclose(of_one(adapted, theta, {"y": y}), expected, rtol=1e-5)


def test_a_latent_of_each_record_has_the_shape_of_the_records():
    """Also where the model is run on zeros in their place."""

    def model(y):
        spread = numpyro.sample("spread", dist.HalfNormal(1))
        with numpyro.plate("records", y.shape[0]):
            part = numpyro.sample("part", dist.Bernoulli(0.5))
            centre = jnp.concatenate([part[:, None], -part[:, None]], axis=1)
            numpyro.sample("y", dist.Normal(centre, spread).to_event(1), obs=y)

    one = {"y": jax.ShapeDtypeStruct((2,), np.float32)}
    adapted = from_numpyro(model, 7, one)
    y = np.array([0.3, 0.1], np.float32)
    expected = np.mean(
        [np.prod(stats.norm.pdf(y - c)) for c in ([0.0, 0.0], [1.0, -1.0])]
    )
    found = of_one(adapted, {"spread": jnp.float32(0)}, {"y": y})
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-5)


def test_scales_and_masks_weigh_the_likelihood():
    def model(x, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with (
            numpyro.plate("records", y.shape[0]),
            handlers.scale(scale=0.5),
            handlers.mask(mask=x > 0),
        ):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    adapted = simple(model, "xy")
    records = {"x": jnp.array([1.0, -1.0]), "y": jnp.array([2.0, 2.0])}
    found = by_record(adapted, {"mean": jnp.float32(0.5)}, records)
    np.testing.assert_allclose(found, [0.5 * stats.norm.logpdf(1.5), 0.0], rtol=1e-5)


def test_a_reparametrised_model_shows_the_site_as_it_was_written():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(3, 2))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    apart = numpyro.infer.reparam.LocScaleReparam(0)
    adapted = simple(handlers.reparam(model, config={"mean": apart}), "y")
    theta = {"mean_decentered": jnp.float32(0.5)}
    assert set(adapted.initial) == set(theta)
    assert adapted.transform(theta)["mean"] == 4.0


def test_a_scoped_name_is_shown_without_its_slash():
    def model(y):
        with handlers.scope(prefix="inner"):
            mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    adapted = simple(model, "y")
    assert set(adapted.transform(adapted.initial)) == {"inner.mean"}
