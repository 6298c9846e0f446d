# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A NumPyro model that cannot be run by record is refused, with what to do."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from refusals import assert_refused

from dpmcmc.adapters import from_numpyro
from dpmcmc.model import Model
from dpmcmc.preparation import Clamp, Preparation

COUNT = 30
ORDERED = dist.constraints.ordered_vector
ONE = {
    "x": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((), np.float32),
}


def adapt(model: Any, one: Any = ONE, **settings: Any) -> Model:
    return from_numpyro(model, COUNT, one, **settings)


def refused(model: Any, *parts: str, one: Any = ONE, **settings: Any) -> str:
    return assert_refused(lambda: adapt(model, one, **settings), *parts)


def mean_of_records(inside: Callable[..., Any]) -> Callable[..., Any]:
    """A model with a mean, and in a plate over the records what ``inside`` says."""

    def model(x, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            inside(mean, x, y)

    return model


def observe(mean, x, y):
    numpyro.sample("y", dist.Normal(mean, 1), obs=y)


def test_a_good_model_is_not_refused():
    adapt(mean_of_records(observe))


# Arguments and columns.


def test_a_model_must_be_a_function():
    refused("model", "model is a str", "Pass the function itself")


def test_a_missing_column_is_named():
    def model(x, weight, y): ...

    refused(model, "the model needs 'weight'", "columns are 'x', 'y'", "partial")


@pytest.mark.parametrize(
    "one", [ONE["x"], (ONE["x"], ONE["y"]), {"x": {"inner": ONE["x"]}}, {1: ONE["x"]}]
)
def test_records_without_names_are_refused(one):
    refused(mean_of_records(observe), "takes columns by name", one=one)


def test_a_bound_argument_must_not_be_a_column():
    model = partial(mean_of_records(observe), x=1.0)
    refused(model, "the argument 'x' is bound", "Rename or drop the column")


def test_public_arguments_may_be_bound_and_columns_ignored():
    def model(y, /, sd, *, size=3, **rest):
        assert size == 3
        assert set(rest) <= {"x"}
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, sd), obs=y)

    adapted = adapt(partial(model, sd=2.0))
    record = {"x": jnp.float32(0), "y": jnp.float32(1), "unused": jnp.float32(0)}
    found = jax.jit(adapted.log_likelihood)({"mean": 1.0}, record)
    assert found == pytest.approx(-np.log(2 * np.sqrt(2 * np.pi)), rel=1e-5)


def test_a_preparation_comes_first():
    """The model reads the column that the preparation makes."""
    preparation = Preparation({"y": Clamp(-1.0, 1.0)})
    adapted = adapt(mean_of_records(observe), preparation=preparation)
    record = {"x": jnp.float32(0), "y": jnp.float32(5)}
    found = jax.jit(adapted.record_log_likelihood)({"mean": 1.0}, record)
    assert found == pytest.approx(-0.5 * np.log(2 * np.pi), rel=1e-5)


def test_no_array_of_all_records_is_made():
    """Forty gigabytes stand in for the records, on paper only."""
    wide = {"x": jax.ShapeDtypeStruct((100,), np.float32), "y": ONE["y"]}

    def model(x, y):
        slope = numpyro.sample("slope", dist.Normal(0, 1).expand([100]).to_event(1))
        numpyro.deterministic("size", jnp.sum(slope**2))
        with numpyro.plate("records", y.shape[0]):
            part = numpyro.sample("part", dist.Bernoulli(0.5))
            numpyro.sample("y", dist.Normal(x @ slope + part, 1), obs=y)

    adapted = from_numpyro(model, 10**8, wide)
    assert np.isfinite(adapted.log_prior(adapted.initial))
    theta = adapted.draw_prior(jax.random.key(0))
    assert adapted.transform(theta)["size"] > 0


def test_a_count_must_be_a_number():
    assert_refused(lambda: from_numpyro(observe, 0, ONE), "count is 0", "at least 1")


# Plates and observed sites.


def test_a_model_must_observe_the_records():
    def model(x, y=None):
        with numpyro.plate("records", x.shape[0]):
            numpyro.sample("y", dist.Normal(0, 1), obs=y)

    just_x = {"x": ONE["x"]}
    refused(model, "no observed site", "arguments 'y'", "defaults", one=just_x)
    refused(model, "no observed site", one=just_x, plate="records")

    def constant(y):
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(0, 1), obs=jnp.zeros(y.shape[0]))

    refused(constant, "no observed site that reads the records", "as obs")


def test_an_observed_site_must_stand_in_a_plate():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    refused(model, "no plate holds all observed sites ('y')", "'y' stands in none")
    refused(model, "plate is 'rows'; the model has no plate", plate="rows")


@pytest.mark.parametrize("plate", [None, "records"])
def test_an_observed_site_outside_the_plate_is_named(plate):
    def model(x, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.sample("x", dist.Normal(mean, 1), obs=x)
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    where = "'x' stands in none" if plate is None else "observed site 'x' reads"
    refused(model, where, plate=plate)


def test_a_factor_of_the_records_must_stand_in_the_plate():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.factor("all", jnp.sum(dist.Normal(mean, 1).log_prob(y)))
        with numpyro.plate("records", y.shape[0]):
            pass

    refused(model, "the factor 'all' reads the records ('y')", plate="records")


def two_plates(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    with numpyro.plate("here", x.shape[0]):
        numpyro.sample("x", dist.Normal(mean, 1), obs=x)
    with numpyro.plate("there", y.shape[0]):
        numpyro.sample("y", dist.Normal(mean, 1), obs=y)


def test_one_plate_must_hold_all_observed_sites():
    refused(two_plates, "no plate holds all observed sites ('x', 'y')")
    refused(two_plates, "observed site 'x' reads", "plate 'there'", plate="there")
    refused(two_plates, "plate is 'rows'; the model has 'here', 'there'", plate="rows")


def square(y):
    """Two plates of the same size hold the observed site."""
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    with numpyro.plate("rows", y.shape[0], dim=-2), numpyro.plate("more", y.shape[1]):
        numpyro.sample("y", dist.Normal(mean, 1), obs=y)


def test_of_two_plates_the_one_of_the_records_is_taken_if_it_is_clear():
    small = {"y": jax.ShapeDtypeStruct((3,), np.float32)}
    adapted = adapt(square, small)
    record = {"y": jnp.array([0.0, 1.0, 2.0])}
    expected = np.sum(dist.Normal(0, 1).log_prob(record["y"]))
    found = jax.jit(adapted.log_likelihood)({"mean": 0.0}, record)
    assert found == pytest.approx(float(expected), rel=1e-5)
    large = {"y": jax.ShapeDtypeStruct((COUNT,), np.float32)}
    refused(square, "'more', 'rows' all hold", "Name it with plate=", one=large)
    assert adapt(square, large, plate="rows").initial.keys() == {"mean"}


@pytest.mark.parametrize("plate", [None, "records"])
@pytest.mark.parametrize("size", [3, 2 * COUNT])
def test_a_plate_of_another_size_is_refused(size, plate):
    def model(x, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", size):
            numpyro.sample("y", dist.Normal(mean + x, 1), obs=y)

    said = f"plate 'records' has size {size} when the model is given {COUNT} records"
    refused(model, said, "x.shape[0]", plate=plate)


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("use_x", [False, True])
def test_a_plate_of_constant_size_is_refused(use_x, others):
    def model(x, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        if others:
            with numpyro.plate("others", 4):
                numpyro.sample("other", dist.Normal(0, 1))
        with numpyro.plate("records", COUNT):
            numpyro.sample("y", dist.Normal(mean + (x if use_x else 0), 1), obs=y)

    refused(model, f"plate 'records' has size {COUNT}", "given 1 record.", "x.shape[0]")


def test_a_subsampled_plate_is_refused():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0], subsample_size=1) as few:
            numpyro.sample("y", dist.Normal(mean, 1), obs=y[few])

    refused(model, "plate 'records' is subsampled", "MinibatchBarker")


# Latents inside the plate.


def test_a_continuous_latent_in_the_plate_is_refused():
    def inside(mean, x, y):
        own = numpyro.sample("own", dist.Normal(mean, 1))
        numpyro.sample("y", dist.Normal(own, 1), obs=y)

    said = refused(mean_of_records(inside), "the site 'own' is a continuous latent")
    assert "release a value for each record" in said
    assert "Marginalise it" in said


def test_a_column_that_was_forgotten_is_guessed():
    def model(x, weight=None, y=None):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", x.shape[0]):
            numpyro.sample("weight", dist.Normal(mean, 1), obs=weight)
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    refused(model, "'weight' is a continuous latent", "the arguments 'weight' have no")


def test_a_discrete_latent_without_end_is_refused():
    def inside(mean, x, y):
        own = numpyro.sample("own", dist.Poisson(3))
        numpyro.sample("y", dist.Normal(own, 1), obs=y)

    refused(mean_of_records(inside), "'own' is a discrete latent", "Truncate it")


def test_too_many_combinations_are_refused():
    def inside(mean, x, y):
        with handlers.scope(prefix="a"):
            first = numpyro.sample("z", dist.Categorical(jnp.ones(70) / 70))
        second = numpyro.sample("z", dist.Categorical(jnp.ones(60) / 60))
        numpyro.sample("y", dist.Normal(first + second, 1), obs=y)

    refused(mean_of_records(inside), "('a/z', 'z') take 4,200 values", "4,096")


def test_a_latent_for_each_record_outside_the_plate_is_refused():
    def model(y):
        own = numpyro.sample("own", dist.Normal(0, 1).expand([y.shape[0]]).to_event(1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(own, 1), obs=y)

    refused(model, "'own' has shape (30,), which changes", "a value for each record")


# What mixes records.


@pytest.mark.parametrize("validation", [False, True])
@pytest.mark.parametrize(
    "law",
    [
        lambda y: dist.Normal(y.mean(), 1),
        lambda y: dist.Normal(0, jnp.std(y)),
        lambda y: dist.Uniform(jnp.min(y), jnp.max(y)),
        lambda y: dist.ImproperUniform(
            dist.constraints.interval(jnp.min(y), jnp.max(y)), (), ()
        ),
        lambda y: dist.Normal(0, 1).mask(y[0] > 0),
        lambda y: dist.Normal(0, 1 + 0 * y[0]),
    ],
)
def test_a_prior_made_from_records_is_refused(law, validation):
    def model(y):
        mean = numpyro.sample("mean", law(y))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    with numpyro.validation_enabled(validation):
        refused(model, "the prior of 'mean' depends on the records", "'y'", "public")


@pytest.mark.parametrize(
    "inside",
    [
        lambda mean, x, y: numpyro.sample("y", dist.Normal(mean * x.mean(), 1), obs=y),
        lambda mean, x, y: numpyro.sample(
            "y", dist.Normal(mean, 1), obs=(y - y.mean())
        ),
        lambda mean, x, y: numpyro.sample("y", dist.Normal(mean, len(y)), obs=y),
        lambda mean, x, y: numpyro.sample("y", dist.Normal(mean, 1), obs=y[::-1] + x),
        lambda mean, x, y: numpyro.sample(
            "y", dist.Normal(mean * x, 1), obs=y[:, None]
        ),
        lambda mean, x, y: numpyro.factor("f", jnp.sum(-((y - mean) ** 2))),
    ],
    ids=["mean of x", "centred", "number", "neighbours", "outer product", "sum"],
)
def test_a_likelihood_that_mixes_records_is_refused(inside):
    refused(mean_of_records(inside), "depends on the other records", "synthetic")


def test_a_sharp_likelihood_is_not_taken_for_a_mixed_one():
    """Its numbers are large, and rounding in float32 would be seen in them."""

    def inside(mean, x, y):
        numpyro.sample("y", dist.Normal(mean * x, 1e-6), obs=y)

    adapt(mean_of_records(inside))


def test_sites_must_not_come_and_go():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        if y.shape[0] > 1:
            numpyro.sample("more", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    refused(model, "other sites or plates ('more')", "one record at a time")


# What is no model of records at all.


def test_a_model_that_fails_is_placed_in_its_own_file():
    def model(y):
        size = int(y.max())
        numpyro.sample("effect", dist.Normal(0, 1).expand([size]))

    line = model.__code__.co_firstlineno + 1
    said = refused(model, f"{__file__}:{line}", "functools.partial", "float32[30]")
    assert said.startswith("the model failed with ConcretizationTypeError")
    refused(partial(model), f"{__file__}:{line}")


def test_sites_without_a_prior_are_refused():
    def model(y):
        mean = numpyro.param("mean", 0.0)
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    refused(model, "param site 'mean', which has no prior", "numpyro.sample")

    def nothing(y):
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(0, 1), obs=y)

    refused(nothing, "no latent site outside the plate")


def test_randomness_that_is_no_site_is_refused():
    """A hidden site would be drawn anew at each evaluation."""

    def model(y):
        with handlers.block():
            mean = numpyro.sample("mean", dist.Normal(0, 1))
        sd = numpyro.sample("sd", dist.HalfNormal(1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, sd), obs=y)

    line = model.__code__.co_firstlineno + 2
    refused(model, "the model failed with", f"{__file__}:{line}")


def test_a_scan_of_numpyro_is_refused():
    def model(y):
        def step(last, _):
            return numpyro.sample("path", dist.Normal(last, 1)), None

        last, _ = scan(step, 0.0, jnp.arange(3))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(last, 1), obs=y)

    refused(model, "'path' stands inside a NumPyro scan")


def test_a_support_without_a_transform_is_refused():
    def model(y):
        way = numpyro.sample("way", dist.ProjectedNormal(jnp.zeros(2)))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(way[0], 1), obs=y)

    refused(model, "the support of the site 'way' has no transform")


# The place to start.


def positive(y):
    sd = numpyro.sample("sd", dist.HalfNormal(1).expand([2]).to_event(1))
    which = numpyro.sample("which", dist.Bernoulli(0.5))
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.Normal(which, sd[0]), obs=y)


def test_a_start_is_given_on_the_scale_of_the_sites():
    adapted = adapt(positive, initial={"sd": [2.0, 3.0], "which": 1})
    shown = adapted.transform(adapted.initial)
    np.testing.assert_allclose(shown["sd"], [2, 3], rtol=1e-6)
    assert shown["which"] == 1


def test_a_chain_starts_at_the_centre_of_the_prior():
    default = adapt(positive)
    shown = default.transform(default.initial)
    np.testing.assert_allclose(shown["sd"], np.sqrt(2 / np.pi), rtol=1e-5)

    def heavy(y):
        sd = numpyro.sample("sd", dist.HalfCauchy(3))  # its mean is infinite
        cuts = numpyro.sample("cuts", dist.ImproperUniform(ORDERED, (), (2,)))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(cuts[0], sd), obs=y)

    start = adapt(heavy).initial
    assert not any(np.any(value) for value in start.values())


@pytest.mark.parametrize(
    ("initial", "said"),
    [
        ({"mean": 0.0}, "initial names 'mean', which is no parameter"),
        ({"sd": 1.0}, "'sd' as float32[scalar]; it must be real numbers of shape (2,)"),
        ({"sd": ["a", "b"]}, "'sd' as"),
        ({"sd": [1.0, -1.0]}, "initial has 'sd' outside the support"),
        ({"sd": [1.0, np.nan]}, "initial has 'sd' outside the support"),
        ({"which": 2}, "initial has 'which' outside the support"),
    ],
)
def test_a_start_that_cannot_be_is_refused(initial, said):
    refused(positive, said, initial=initial)


def test_a_start_must_have_a_finite_prior():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.factor("far", jnp.where(mean > 100, 0.0, -jnp.inf))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    refused(model, "prior is -inf at the starting point mean = ", "Give initial=")
    adapt(model, initial={"mean": 101.0})
