# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A model that cannot run is refused at once, with the user's own line named."""

import functools
import traceback

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model, check_model
from dpmcmc.model.responses import Moments

START = {"mean": jnp.float32(0.0)}
RECORD = {
    "x": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((3,), np.int32),
}


def good_likelihood(theta, record):
    return -0.5 * (record["x"] - theta["mean"]) ** 2 + jnp.sum(record["y"])


def good_prior(theta):
    return -0.5 * theta["mean"] ** 2


def check(likelihood=good_likelihood, prior=good_prior, start=START):
    check_model(Model(likelihood, prior, start), start, RECORD)


def refusal(**settings):
    with pytest.raises(InputError) as caught:
        check(**settings)
    return caught.value


def test_a_good_model_passes():
    check()
    check(prior=lambda theta: 0)  # a flat prior may be a plain number
    check(likelihood=lambda theta, record: record["x"] > theta["mean"])
    check(
        likelihood=lambda theta, record: (good_likelihood(theta, record),)
    )  # one leaf


@pytest.mark.parametrize("value", [None, 3.0, jnp.zeros(3), "log_likelihood"])
@pytest.mark.parametrize("name", ["log_likelihood", "log_prior"])
def test_what_is_no_function_is_refused(name, value):
    given = {"log_likelihood": good_likelihood, "log_prior": good_prior, name: value}
    with pytest.raises(InputError, match=f"{name} is a .* must be a function"):
        Model(**given, initial=0.0)


@pytest.mark.parametrize("initial", [{}, [], None, {"a": None}, ()])
def test_a_model_without_parameters_is_refused(initial):
    with pytest.raises(InputError, match="initial holds no parameter"):
        Model(good_likelihood, good_prior, initial)


@pytest.mark.parametrize("leaf", ["a", 1j, np.array(["a"]), object()])
def test_a_parameter_that_is_no_number_is_refused(leaf):
    with pytest.raises(InputError, match="must be a real number"):
        Model(good_likelihood, good_prior, {"mean": 0.0, "other": leaf})


@pytest.mark.parametrize(
    ("likelihood", "shown"),
    [
        (lambda theta, record: record["y"] * theta["mean"], "float32[3]"),
        (lambda theta, record: (theta["mean"], theta["mean"]), "float32[scalar]"),
        (lambda theta, record: None, "None"),
        (lambda theta, record: theta["mean"] + 1j, "complex64[scalar]"),
        (lambda theta, record: theta["mean"][None], "float32[1]"),
    ],
    ids=["a vector", "a pair", "nothing", "complex", "one entry"],
)
def test_a_likelihood_must_be_one_real_number(likelihood, shown):
    message = str(refusal(likelihood=likelihood))
    assert message.startswith("log_likelihood(theta, record) returns ")
    assert shown in message.split(";", maxsplit=1)[0]
    assert "it must return one real number" in message
    assert "{mean: float32[scalar]}" in message
    assert "{x: float32[scalar], y: int32[3]}" in message


def test_a_prior_must_be_one_real_number():
    message = str(refusal(prior=lambda theta: jnp.zeros(2)))
    assert message.startswith("log_prior(theta) returns float32[2]")


def failing_likelihood(theta, record):
    if record["x"] > 0:  # cannot be traced
        return theta["mean"]
    return record["x"]


def missing_column(theta, record):
    return record["weight"] * theta["mean"]


def wrong_shapes(theta, record):
    return jnp.sum(record["y"] @ jnp.zeros(4))


def user_raises(theta, record):
    raise RuntimeError


@pytest.mark.parametrize(
    ("likelihood", "error", "offset"),
    [
        (failing_likelihood, "TracerBoolConversionError", 1),
        (missing_column, "KeyError", 1),
        (wrong_shapes, "TypeError", 1),
        (user_raises, "RuntimeError", 1),
    ],
)
def test_a_failure_names_the_line_of_the_user(likelihood, error, offset):
    caught = refusal(likelihood=likelihood)
    code = likelihood.__code__
    place = f"at {code.co_filename}:{code.co_firstlineno + offset}: "
    assert f"log_likelihood failed with {error}" in str(caught)
    assert place in str(caught)
    assert "It was traced with {mean: float32[scalar]}" in str(caught)


@pytest.mark.parametrize("likelihood", [failing_likelihood, wrong_shapes])
def test_a_failure_shows_no_traceback_of_jax(likelihood):
    caught = refusal(likelihood=likelihood)
    assert caught.__cause__ is None
    assert caught.__suppress_context__
    shown = "".join(traceback.format_exception(caught))
    assert "site-packages/jax" not in shown
    assert "\n" not in str(caught)


def test_a_failing_prior_is_named():
    def prior(theta):
        return theta["gap"]

    caught = refusal(prior=prior)
    assert "log_prior failed with KeyError" in str(caught)
    assert f":{prior.__code__.co_firstlineno + 1}: " in str(caught)


def test_a_failure_without_a_line_still_says_what_failed():
    caught = refusal(likelihood=functools.partial(missing_column))
    assert "log_likelihood failed with KeyError: 'weight'" in str(caught)


def test_a_failure_inside_a_helper_is_placed_in_the_file_of_the_user():
    def likelihood(theta, record):
        return missing_column(theta, record)

    expected = missing_column.__code__.co_firstlineno + 1
    assert f":{expected}: " in str(refusal(likelihood=likelihood))


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf, -jnp.inf])
def test_a_prior_that_is_not_finite_at_the_start_is_refused(value):
    caught = refusal(prior=lambda theta: theta["mean"] + value)
    assert f"log_prior is {float(value)} at the starting point" in str(caught)
    assert "inside the support" in str(caught)


@jax.custom_batching.custom_vmap
def mean_of_batch(x):
    return x


@mean_of_batch.def_vmap
def mean_of_batch_rule(size, batched, x):
    return jnp.full_like(x, jnp.mean(x)), True


def to_host(x):
    return jax.pure_callback(
        np.sin, jax.ShapeDtypeStruct((), jnp.float32), x, vmap_method="expand_dims"
    )


def printed(x):
    jax.debug.print("{}", x)
    return x


def called(x):
    jax.debug.callback(print, x)
    return x


def to_host_in_order(x):
    shape = jax.ShapeDtypeStruct((), jnp.float32)
    return jax.experimental.io_callback(np.sin, shape, x)


INNER = {
    "at the top": lambda f: f,
    "compiled": jax.jit,
    "in a branch": lambda f: lambda x: jax.lax.cond(x > 0, f, lambda x: x, x),
    "in a loop": lambda f: lambda x: jax.lax.fori_loop(0, 3, lambda _, y: f(y), x),
    "in a scan": lambda f: (
        lambda x: jax.lax.scan(lambda c, _: (f(c), c), x, None, 3)[0]
    ),
    "under checkpoint": lambda f: jax.checkpoint(lambda y: f(y) * y),
}


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
@pytest.mark.parametrize(
    "door", [mean_of_batch, to_host, printed, called, to_host_in_order]
)
def test_a_likelihood_that_takes_records_elsewhere_is_refused(door, inner):
    """By callbacks or printing, which see values; by batching that mixes records."""

    def likelihood(theta, record):
        return theta["mean"] * inner(door)(record["x"])

    message = str(refusal(likelihood=likelihood))
    assert message.startswith("log_likelihood uses ")
    assert "Write it in operations of JAX alone" in message


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_a_likelihood_of_plain_operations_is_not(inner):
    check(likelihood=lambda theta, record: inner(jnp.sin)(record["x"]) * theta["mean"])
    check(
        likelihood=lambda theta, record: inner(jax.scipy.special.gammaln)(record["x"])
    )
    check(likelihood=lambda theta, record: inner(jax.nn.relu)(record["x"]))


def test_models_are_known_by_identity():
    """Two equal models are compiled apart: their functions may differ in closure."""
    one, other = (Model(good_likelihood, good_prior, 0.0) for _ in range(2))
    assert one != other
    assert hash(one) != hash(other)


def _shown(theta, record):
    jax.debug.print("{}", record["x"])
    return theta * record["x"], 1.0


def _batched(theta, record):
    @jax.custom_batching.custom_vmap
    def mean(x):
        return x

    mean.def_vmap(lambda _, batched, x: (x.mean() + 0 * x, batched[0]))
    return mean(record["x"]) * theta, 1.0


@pytest.mark.parametrize(
    "at",
    [
        _shown,
        _batched,
        lambda theta, record: record["x"],
        lambda theta, record: (record["x"], jnp.ones(2)),
        lambda theta, record: (record["z"], 1.0),
    ],
    ids=["prints", "batches", "one", "vector", "fails"],
)
def test_moments_that_might_show_or_mix_records_are_refused(at):
    """They run on records inside the boundary, as the log-likelihood does."""
    model = Model(
        lambda theta, record: -((record["y"] - theta * record["x"]) ** 2),
        lambda theta: -(theta**2),
        0.0,
        responses={"y": Moments(at)},
    )
    one = jax.ShapeDtypeStruct((), "float32")
    with pytest.raises(InputError, match="moments of 'y'"):
        check_model(model, jnp.float32(0.0), {"x": one, "y": one})
