# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A NumPyro model that cannot be run by record is refused, with what to do."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from adapting import COUNT, ONE, adapt, mean_of_records, observe, refused
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.contrib.control_flow import scan


def test_a_good_model_is_not_refused():
    adapt(mean_of_records(observe))


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


def test_an_observed_site_needs_a_plate_or_an_entry_for_each_record():
    def joint(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        each = dist.Normal(mean, 1).expand([y.shape[0]])
        numpyro.sample("y", each.to_event(1), obs=y)

    refused(joint, "no plate holds all observed sites ('y')", "'y' stands in none")
    refused(joint, "plate is 'rows'; the model has no plate", plate="rows")

    def summed(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.factor("y", jnp.sum(dist.Normal(mean, 1).log_prob(y)))

    refused(summed, "no plate holds all observed sites ('y')")

    def by_chance(y):
        """As many entries as there are records, but not one for each."""
        mean = numpyro.sample("mean", dist.Normal(0, 1).expand([COUNT]).to_event(1))
        numpyro.sample("y", dist.Normal(mean, 1), obs=y[0])

    refused(by_chance, "other sites or plates ('the records')")

    def mixed(x, y):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(slope * (x - x.mean()), 1), obs=y)

    refused(mixed, "depends on the other records")


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

    refused(model, "'weight' is a continuous latent", "like the arguments 'weight'")


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

    def of_a_column(x, y):
        own = numpyro.sample("own", dist.Normal(x, 1))
        numpyro.sample("y", dist.Normal(own, 1), obs=y)

    refused(of_a_column, "'own' has shape (30,), which changes")


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
